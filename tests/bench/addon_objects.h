// The three add-ons of bench_addon: one of a workload and its rights, one whose agent works on the hub, one of mere settings.
#pragma once

#include <array>
#include <string>
#include <utility>

#include "core/addon/rules/names.h"
#include "core/api/kinds.h"

namespace fleetadm::bench {

inline constexpr const char* kSpace = "addons";      // of the placement
inline constexpr const char* kEverywhere = "all";    // the placement
inline constexpr const char* kUpgraded = "metrics";  // the add-on that is upgraded
inline constexpr std::array kAddons = {kUpgraded, "policy", "settings"};
inline constexpr const char* kHubRole = "policy-agent";

inline Json addon_manifest(const char* api_version, const char* kind, const std::string& name) {
  Json made{{"apiVersion", api_version}, {"kind", kind}, {"metadata", {{"name", name}}}};
  if (!std::string(kind).starts_with("Cluster")) made["metadata"]["namespace"] = api::kAgentAddonNamespace;
  return made;
}

inline Json addon_config_map(const std::string& name, const std::string& revision) {
  Json made = addon_manifest("v1", "ConfigMap", name);
  made["data"] = {{"cluster", "{{CLUSTER_NAME}}"}, {"revision", revision}, {"text", std::string(200, 'x')}};
  return made;
}

inline Json addon_deployment(const std::string& name, const std::string& revision) {
  Json made = addon_manifest("apps/v1", "Deployment", name);
  const Json labels{{"app", name}};
  const Json container{{"name", "agent"},
                       {"image", "registry.example.com/fleet/" + name + ":" + revision},
                       {"args", {"--cluster={{CLUSTER_NAME}}", "--interval=60s"}}};
  made["spec"] = {{"replicas", 1}, {"selector", {{"matchLabels", labels}}}};
  made["spec"]["template"] = {{"metadata", {{"labels", labels}}},
                              {"spec", {{"serviceAccountName", name}, {"containers", Json::array({container})}}}};
  return made;
}

/// "<add-on>-<revision>".
inline std::string template_name(const std::string& addon, const std::string& revision) { return addon + "-" + revision; }

inline Json addon_template(const std::string& addon, const std::string& revision) {
  const std::string agent = addon + "-agent";
  Json manifests = Json::array({addon_config_map(addon, revision)});
  Json spec{{"addonName", addon}};
  if (addon == "settings") {
    manifests.push_back(addon_config_map(addon + "-more", revision));
  } else {
    manifests.push_back(addon_manifest("v1", "ServiceAccount", agent));
    manifests.push_back(addon_deployment(agent, revision));
    Json role = addon_manifest("rbac.authorization.k8s.io/v1", "ClusterRole", agent);
    role["rules"] = Json::array({{{"apiGroups", {""}}, {"resources", {"nodes", "pods"}}, {"verbs", {"get", "list", "watch"}}}});
    manifests.push_back(std::move(role));
    Json binding = addon_manifest("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", agent);
    binding["roleRef"] = {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", agent}};
    binding["subjects"] = Json::array({{{"kind", "ServiceAccount"}, {"name", agent}, {"namespace", api::kAgentAddonNamespace}}});
    manifests.push_back(std::move(binding));
  }
  if (addon == "policy") {
    const Json permission{{"type", "CurrentCluster"}, {"currentCluster", {{"clusterRoleName", kHubRole}}}};
    const Json client{{"hubPermissions", Json::array({permission})}};
    spec["registration"] = Json::array({{{"type", "KubeClient"}, {"kubeClient", client}}});
  }
  spec["agentSpec"]["workload"]["manifests"] = std::move(manifests);
  return {{"apiVersion", api::addon_templates().api_version()},
          {"kind", "AddOnTemplate"},
          {"metadata", {{"name", template_name(addon, revision)}}},
          {"spec", std::move(spec)}};
}

/// spec of a declaration: this revision of the template, wherever the placement decides.
inline Json addon_declaration_spec(const std::string& addon, const std::string& revision, const Json& strategy) {
  const Json placement{{"namespace", kSpace}, {"name", kEverywhere}, {"rolloutStrategy", strategy}};
  const Json config{{"group", addon::kGroup}, {"resource", addon::kTemplates}, {"name", template_name(addon, revision)}};
  return {{"defaultConfigs", Json::array({config})},
          {"installStrategy", {{"type", "Placements"}, {"placements", Json::array({placement})}}}};
}

inline Json addon_declaration(const std::string& addon) {
  return {{"apiVersion", api::cluster_management_addons_v1beta1().api_version()},
          {"kind", "ClusterManagementAddOn"},
          {"metadata", {{"name", addon}}},
          {"spec", addon_declaration_spec(addon, "1", {{"type", "All"}})}};
}

}  // namespace fleetadm::bench
