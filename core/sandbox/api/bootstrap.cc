#include "core/sandbox/api/bootstrap.h"

#include <vector>

#include "core/sandbox/api/flow_defaults.h"
#include "core/sandbox/auth/flow_schemas.h"

namespace fleetadm::sandbox {
namespace {

using Words = std::vector<std::string>;

WriteOptions internal_write() {
  WriteOptions out;
  out.user.name = "system:apiserver";
  out.user.groups = {"system:masters"};
  out.manager = "fleetadm-sandbox";
  out.internal = true;
  return out;
}

ApiStatus ensure(Engine& engine, std::string_view group, std::string_view plural, const std::string& ns, const Json& object) {
  const auto kind = engine.kinds().find_plural(group, plural);
  if (!kind) return api_fail(500, "InternalError", "no such kind");
  if (engine.store().get(kind->storage, ns, name_of(object))) return {};
  Json typed = object;
  typed["apiVersion"] = kind->api_version();
  typed["kind"] = kind->kind;
  auto made = engine.create(*kind, ns, std::move(typed), internal_write());
  if (!made && made.error().reason != "AlreadyExists") return tl::unexpected(std::move(made).error());
  return {};
}

Json rule(const Words& verbs, const Words& groups, const Words& resources) {
  return {{"verbs", verbs}, {"apiGroups", groups}, {"resources", resources}};
}
Json urls(const Words& paths) { return {{"verbs", Words{"get"}}, {"nonResourceURLs", paths}}; }

Json role(const std::string& name, const Json& rules, const Json& labels = Json::object()) {
  Json all = labels;
  all["kubernetes.io/bootstrapping"] = "rbac-defaults";
  return {
      {"metadata", {{"name", name}, {"labels", all}, {"annotations", {{"rbac.authorization.kubernetes.io/autoupdate", "true"}}}}},
      {"rules", rules}};
}

Json aggregated_role(const std::string& name, const std::string& label, const Json& rules, const Json& labels = Json::object()) {
  Json out = role(name, rules, labels);
  out["aggregationRule"] = {{"clusterRoleSelectors", Json::array({{{"matchLabels", {{label, "true"}}}}})}};
  return out;
}

Json binding(const std::string& name, const std::string& role_name, const Words& groups) {
  Json subjects = Json::array();
  for (const auto& group : groups)
    subjects.push_back({{"kind", "Group"}, {"apiGroup", "rbac.authorization.k8s.io"}, {"name", group}});
  return {{"metadata",
           {{"name", name},
            {"labels", {{"kubernetes.io/bootstrapping", "rbac-defaults"}}},
            {"annotations", {{"rbac.authorization.kubernetes.io/autoupdate", "true"}}}}},
          {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", role_name}}},
          {"subjects", std::move(subjects)}};
}

const Words kRead = {"get", "list", "watch"};
const Words kWrite = {"create", "delete", "deletecollection", "patch", "update"};
const Words kCore = {"configmaps",
                     "endpoints",
                     "events",
                     "limitranges",
                     "persistentvolumeclaims",
                     "pods",
                     "pods/log",
                     "pods/status",
                     "replicationcontrollers",
                     "resourcequotas",
                     "serviceaccounts",
                     "services"};
const Words kApps = {"controllerrevisions", "daemonsets",        "deployments",  "deployments/scale",
                     "replicasets",         "replicasets/scale", "statefulsets", "statefulsets/scale"};
const Words kBatch = {"cronjobs", "jobs"};
const Words kNetworking = {"ingresses", "networkpolicies"};

Json view_rules() {
  return Json::array(
      {rule(kRead, {""}, kCore), rule(kRead, {""}, {"namespaces"}), rule(kRead, {"apps"}, kApps), rule(kRead, {"batch"}, kBatch),
       rule(kRead, {"networking.k8s.io"}, kNetworking), rule(kRead, {"policy"}, {"poddisruptionbudgets"}),
       rule(kRead, {"autoscaling"}, {"horizontalpodautoscalers"}), rule(kRead, {"discovery.k8s.io"}, {"endpointslices"})});
}

Json edit_rules() {
  Json out = Json::array(
      {rule(kRead, {""}, {"pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "secrets", "services/proxy"}),
       rule({"impersonate"}, {""}, {"serviceaccounts"}),
       rule(kWrite, {""}, {"pods", "pods/attach", "pods/exec", "pods/portforward", "pods/proxy"}),
       rule({"create"}, {""}, {"pods/eviction", "serviceaccounts/token"}),
       rule(kWrite, {""},
            {"configmaps", "events", "persistentvolumeclaims", "replicationcontrollers", "secrets", "serviceaccounts",
             "services"}),
       rule(kWrite, {"apps"},
            {"daemonsets", "deployments", "deployments/rollback", "deployments/scale", "replicasets", "replicasets/scale",
             "statefulsets", "statefulsets/scale"}),
       rule(kWrite, {"batch"}, kBatch), rule(kWrite, {"networking.k8s.io"}, kNetworking),
       rule(kWrite, {"policy"}, {"poddisruptionbudgets"}), rule(kWrite, {"autoscaling"}, {"horizontalpodautoscalers"}),
       rule({"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}, {"coordination.k8s.io"},
            {"leases"})});
  return out;
}

Json admin_rules() {
  return Json::array({rule({"create"}, {"authorization.k8s.io"}, {"localsubjectaccessreviews"}),
                      rule({"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
                           {"rbac.authorization.k8s.io"}, {"rolebindings", "roles"})});
}

Json joined(std::initializer_list<Json> lists) {
  Json out = Json::array();
  for (const Json& list : lists) {
    for (const Json& one : list) out.push_back(one);
  }
  return out;
}

constexpr const char* kAuthenticationMap = "extension-apiserver-authentication";

Json authentication_reader() {
  Json reader =
      role("extension-apiserver-authentication-reader", Json::array({rule({"get", "list", "watch"}, {""}, {"configmaps"})}));
  reader["metadata"]["namespace"] = "kube-system";
  reader["rules"][0]["resourceNames"] = Json::array({kAuthenticationMap});
  return reader;
}

std::vector<Json> cluster_roles() {
  const std::string to = "rbac.authorization.k8s.io/aggregate-to-";
  const Words health = {"/healthz", "/livez", "/readyz", "/version", "/version/"};
  return {
      role("cluster-admin", Json::array({rule({"*"}, {"*"}, {"*"}), {{"verbs", Words{"*"}}, {"nonResourceURLs", Words{"*"}}}})),
      role("system:aggregate-to-view", view_rules(), {{to + "view", "true"}}),
      role("system:aggregate-to-edit", edit_rules(), {{to + "edit", "true"}}),
      role("system:aggregate-to-admin", admin_rules(), {{to + "admin", "true"}}),
      aggregated_role("view", to + "view", view_rules(), {{to + "edit", "true"}}),
      aggregated_role("edit", to + "edit", joined({edit_rules(), view_rules()}), {{to + "admin", "true"}}),
      // In the order of their sources' names, as the controller would fill them in.
      aggregated_role("admin", to + "admin", joined({edit_rules(), view_rules(), admin_rules()})),
      role("system:discovery", Json::array({urls({"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi",
                                                  "/openapi/*", "/readyz", "/version", "/version/"})})),
      role("system:public-info-viewer", Json::array({urls(health)})),
      role("system:monitoring", Json::array({urls({"/healthz", "/healthz/*", "/livez", "/livez/*", "/metrics", "/metrics/slis",
                                                   "/readyz", "/readyz/*"})})),
      role("system:basic-user",
           Json::array({rule({"create"}, {"authorization.k8s.io"}, {"selfsubjectaccessreviews", "selfsubjectrulesreviews"}),
                        rule({"create"}, {"authentication.k8s.io"}, {"selfsubjectreviews"})})),
      role("system:auth-delegator", Json::array({rule({"create"}, {"authentication.k8s.io"}, {"tokenreviews"}),
                                                 rule({"create"}, {"authorization.k8s.io"}, {"subjectaccessreviews"})})),
      role("system:service-account-issuer-discovery",
           Json::array({urls({"/.well-known/openid-configuration/", "/.well-known/openid-configuration", "/openid/v1/jwks/",
                              "/openid/v1/jwks"})})),
      role("system:node-bootstrapper",
           Json::array({rule({"create", "get", "list", "watch"}, {"certificates.k8s.io"}, {"certificatesigningrequests"})})),
  };
}

}  // namespace

ApiStatus bootstrap_cluster(Engine& engine, const std::string& ca_pem) {
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    FLEETADM_CHECK(ensure(engine, "", "namespaces", "", {{"metadata", {{"name", name}}}}));
    FLEETADM_CHECK(ensure(engine, "", "serviceaccounts", name, {{"metadata", {{"name", "default"}, {"namespace", name}}}}));
    FLEETADM_CHECK(ensure(engine, "", "configmaps", name,
                          {{"metadata", {{"name", "kube-root-ca.crt"}, {"namespace", name}}}, {"data", {{"ca.crt", ca_pem}}}}));
  }
  const char* const rbac = "rbac.authorization.k8s.io";
  // Whom servers beside this one are to believe, by client certificate.
  FLEETADM_CHECK(ensure(
      engine, "", "configmaps", "kube-system",
      {{"metadata", {{"name", kAuthenticationMap}, {"namespace", "kube-system"}}}, {"data", {{"client-ca-file", ca_pem}}}}));
  FLEETADM_CHECK(ensure(engine, rbac, "roles", "kube-system", authentication_reader()));
  static const auto& kRoles = *new std::vector<Json>(cluster_roles());  // of all clusters of the process
  for (const Json& one : kRoles) FLEETADM_CHECK(ensure(engine, rbac, "clusterroles", "", one));
  FLEETADM_CHECK(ensure(engine, rbac, "clusterrolebindings", "", binding("cluster-admin", "cluster-admin", {"system:masters"})));
  FLEETADM_CHECK(
      ensure(engine, rbac, "clusterrolebindings", "", binding("system:discovery", "system:discovery", {"system:authenticated"})));
  FLEETADM_CHECK(ensure(engine, rbac, "clusterrolebindings", "",
                        binding("system:basic-user", "system:basic-user", {"system:authenticated"})));
  FLEETADM_CHECK(
      ensure(engine, rbac, "clusterrolebindings", "", binding("system:monitoring", "system:monitoring", {"system:monitoring"})));
  FLEETADM_CHECK(ensure(
      engine, rbac, "clusterrolebindings", "",
      binding("system:public-info-viewer", "system:public-info-viewer", {"system:authenticated", "system:unauthenticated"})));
  FLEETADM_CHECK(ensure(
      engine, rbac, "clusterrolebindings", "",
      binding("system:service-account-issuer-discovery", "system:service-account-issuer-discovery", {"system:serviceaccounts"})));
  const char* const flowcontrol = "flowcontrol.apiserver.k8s.io";
  static const auto& kLevels = *new std::vector<Json>(default_priority_levels());
  for (const Json& one : kLevels) FLEETADM_CHECK(ensure(engine, flowcontrol, "prioritylevelconfigurations", "", one));
  static const auto& kSchemas = *new std::vector<Json>(default_flow_schemas());
  for (Json one : kSchemas) {
    const std::string level = str(one, {"spec", "priorityLevelConfiguration", "name"});
    one["status"]["conditions"] = Json::array({dangling_condition(level, true, engine.clock().now())});
    FLEETADM_CHECK(ensure(engine, flowcontrol, "flowschemas", "", one));
  }
  FLEETADM_CHECK(ensure(engine, "scheduling.k8s.io", "priorityclasses", "",
                        {{"metadata", {{"name", "system-cluster-critical"}}},
                         {"value", 2000000000},
                         {"description", "For pods that the cluster needs, which may run on any node."},
                         {"preemptionPolicy", "PreemptLowerPriority"}}));
  FLEETADM_CHECK(ensure(engine, "scheduling.k8s.io", "priorityclasses", "",
                        {{"metadata", {{"name", "system-node-critical"}}},
                         {"value", 2000001000},
                         {"description", "For pods that a node needs, which may run on no other."},
                         {"preemptionPolicy", "PreemptLowerPriority"}}));
  return ensure(
      engine, "", "services", "default",
      {{"metadata",
        {{"name", "kubernetes"}, {"namespace", "default"}, {"labels", {{"component", "apiserver"}, {"provider", "kubernetes"}}}}},
       {"spec", {{"ports", Json::array({{{"name", "https"}, {"port", 443}, {"protocol", "TCP"}}})}}}});
}

}  // namespace fleetadm::sandbox
