// What an administrator decides of the pods that are installed: where they run, and by which proxy they reach the outside.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::install {

struct PodSettings {
  Json node_selector = Json::object();
  Json tolerations = Json::array();
  std::string priority_class;
  Json resources = nullptr;  // of each container, instead of those of the template; null: these
  Json host_aliases = Json::array();
  // Variables of the environment; empty: none. Connections within the cluster never take a proxy.
  std::string http_proxy;
  std::string https_proxy;
  std::string no_proxy;  // further hosts, with commas

  bool operator==(const PodSettings&) const = default;
};

/// On a Deployment whose `resources` were given: an upgrade keeps them.
inline constexpr std::string_view kOwnResources = "fleetadm.io/own-resources";

/// An annotation of the ServiceAccount of that name.
void annotate_account(std::vector<Json>& objects, std::string_view account, std::string_view key, const std::string& value);

/// Puts them into the pod template of each Deployment.
void set_pod_settings(std::vector<Json>& objects, const PodSettings& settings);

}  // namespace fleetadm::install
