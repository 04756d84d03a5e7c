// What a template is rendered with for one cluster: variables, and what decorates its workloads.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kubeclient/base/json.h"

namespace re2 {
class RE2;
}

namespace fleetadm::addon {

struct ImageMirror {
  std::string source;
  std::string mirror;
};

struct ResourceRule {
  /// Of the whole of "<deployments|daemonsets>:<object>:<container>".
  std::shared_ptr<const re2::RE2> pattern;
  Json resources = Json::object();
};

struct ProxySettings {
  std::string http, https, no_proxy;
  std::string ca_bundle;  // PEM; empty: none
};

struct TemplateValues {
  std::map<std::string, std::string, std::less<>> variables;
  std::vector<std::pair<std::string, std::string>> environment;  // of every container, in order
  std::string install_namespace;                                 // empty: manifests keep theirs
  const Json* node_placement = nullptr;                          // {"nodeSelector", "tolerations"}
  std::vector<ImageMirror> mirrors;
  ProxySettings proxy;
  std::vector<ResourceRule> resources;
  /// Why no workload can be decorated: a variable has the name of a setting that is not there.
  std::optional<std::string> workload_error;
};

/// `config` is the AddOnDeploymentConfig, or nullptr; `cluster` the ManagedCluster, or nullptr. The values point into `config`.
Result<TemplateValues> template_values(const Json& addon_template, const Json* config, const Json* cluster,
                                       std::string_view cluster_name);

}  // namespace fleetadm::addon
