#include "core/sandbox/api/flow_defaults.h"

#include <string>

namespace fleetadm::sandbox {
namespace {

Json flow_object(const char* name, Json spec) {
  return {{"metadata", {{"name", name}, {"annotations", {{"apf.kubernetes.io/autoupdate-spec", "true"}}}}},
          {"spec", std::move(spec)}};
}

/// `queues` 0: requests beyond the limit are rejected.
Json limited_level(const char* name, int shares, int lendable, int queues, int hand) {
  Json response = {{"type", "Reject"}};
  if (queues > 0) response = {{"type", "Queue"}, {"queuing", {{"queues", queues}, {"handSize", hand}, {"queueLengthLimit", 50}}}};
  return flow_object(
      name, {{"type", "Limited"},
             {"limited", {{"nominalConcurrencyShares", shares}, {"lendablePercent", lendable}, {"limitResponse", response}}}});
}

Json flow_user(const char* name) { return {{"kind", "User"}, {"user", {{"name", name}}}}; }
Json flow_group(const char* name) { return {{"kind", "Group"}, {"group", {{"name", name}}}}; }
Json system_accounts() { return {{"kind", "ServiceAccount"}, {"serviceAccount", {{"namespace", "kube-system"}, {"name", "*"}}}}; }
Json everybody() { return Json::array({flow_group("system:unauthenticated"), flow_group("system:authenticated")}); }

Json leases(std::vector<std::string> verbs) {
  return {{"verbs", std::move(verbs)}, {"apiGroups", {"coordination.k8s.io"}}, {"resources", {"leases"}}, {"namespaces", {"*"}}};
}

Json everything(Json subjects) {
  const Json all = Json::array({"*"});
  return {{"subjects", std::move(subjects)},
          {"resourceRules",
           Json::array({{{"verbs", all}, {"apiGroups", all}, {"resources", all}, {"namespaces", all}, {"clusterScope", true}}})},
          {"nonResourceRules", Json::array({{{"verbs", all}, {"nonResourceURLs", all}}})}};
}

Json schema(const char* name, const char* level, int precedence, const char* distinguisher, Json rule) {
  Json spec = {{"priorityLevelConfiguration", {{"name", level}}},
               {"matchingPrecedence", precedence},
               {"rules", Json::array({std::move(rule)})}};
  if (*distinguisher != '\0') spec["distinguisherMethod"] = {{"type", distinguisher}};
  return flow_object(name, std::move(spec));
}

}  // namespace

std::vector<Json> default_priority_levels() {
  return {flow_object("exempt", {{"type", "Exempt"}, {"exempt", {{"nominalConcurrencyShares", 0}, {"lendablePercent", 0}}}}),
          limited_level("catch-all", 5, 0, 0, 0),
          limited_level("system", 30, 33, 64, 6),
          limited_level("node-high", 40, 25, 64, 6),
          limited_level("leader-election", 10, 0, 16, 4),
          limited_level("workload-high", 40, 50, 128, 6),
          limited_level("workload-low", 100, 90, 128, 6),
          limited_level("global-default", 20, 50, 128, 6)};
}

std::vector<Json> default_flow_schemas() {
  const Json manager = flow_user("system:kube-controller-manager");
  const Json scheduler = flow_user("system:kube-scheduler");
  const Json nodes = Json::array({flow_group("system:nodes")});
  const Json node_objects = {{"verbs", {"*"}},
                             {"apiGroups", {""}},
                             {"resources", {"nodes", "nodes/status"}},
                             {"namespaces", {"*"}},
                             {"clusterScope", true}};
  return {
      schema("exempt", "exempt", 1, "", everything(Json::array({flow_group("system:masters")}))),
      schema("probes", "exempt", 2, "",
             {{"subjects", everybody()},
              {"nonResourceRules", Json::array({{{"verbs", {"get"}}, {"nonResourceURLs", {"/healthz", "/readyz", "/livez"}}}})}}),
      schema("system-leader-election", "leader-election", 100, "ByUser",
             {{"subjects", Json::array({manager, scheduler, system_accounts()})},
              {"resourceRules", Json::array({leases({"get", "create", "update"})})}}),
      schema("system-node-high", "node-high", 400, "ByUser",
             {{"subjects", nodes}, {"resourceRules", Json::array({node_objects, leases({"*"})})}}),
      schema("system-nodes", "system", 500, "ByUser", everything(nodes)),
      schema("kube-controller-manager", "workload-high", 800, "ByNamespace", everything(Json::array({manager}))),
      schema("kube-scheduler", "workload-high", 800, "ByNamespace", everything(Json::array({scheduler}))),
      schema("kube-system-service-accounts", "workload-high", 900, "ByNamespace", everything(Json::array({system_accounts()}))),
      schema("service-accounts", "workload-low", 9000, "ByUser", everything(Json::array({flow_group("system:serviceaccounts")}))),
      schema("global-default", "global-default", 9900, "ByUser", everything(everybody())),
      schema("catch-all", "catch-all", 10000, "ByUser", everything(everybody())),
  };
}

}  // namespace fleetadm::sandbox
