#include "commands/sandbox/access.h"

#include "kubeclient/base/json.h"

namespace fleetadm::commands {
namespace {

constexpr const char* kName = "sandbox-clusters";
constexpr const char* kRbacGroup = "rbac.authorization.k8s.io";

Json binding(const std::string& role, const std::string& user) {
  return {{"apiVersion", kube::resources::cluster_role_bindings().api_version()},
          {"kind", "ClusterRoleBinding"},
          {"metadata", {{"name", kName}}},
          {"roleRef", {{"apiGroup", kRbacGroup}, {"kind", "ClusterRole"}, {"name", role}}},
          {"subjects", Json::array({{{"apiGroup", kRbacGroup}, {"kind", "User"}, {"name", user}}})}};
}

Status apply(const kube::Client& client, const kube::Resource& resource, const Json& object) {
  return client.apply(resource, object, {.force = true}).map([](const Json&) {});
}

}  // namespace

Result<std::string> allow_clusters(const kube::Client& hub) {
  const auto& reviews = kube::resources::self_subject_reviews();
  FLEETADM_TRY(const Json review,
               hub.post(reviews.path(""), {{"apiVersion", reviews.api_version()}, {"kind", reviews.kind}}, true));
  std::string user = str(review, {"status", "userInfo", "username"});
  const Json rule{{"apiGroups", {"proxy.open-cluster-management.io"}}, {"resources", {"clusters/proxy"}}, {"verbs", {"*"}}};
  const Json role{{"apiVersion", kube::resources::cluster_roles().api_version()},
                  {"kind", "ClusterRole"},
                  {"metadata", {{"name", kName}}},
                  {"rules", Json::array({rule})}};
  FLEETADM_CHECK(apply(hub, kube::resources::cluster_roles(), role));
  FLEETADM_CHECK(apply(hub, kube::resources::cluster_role_bindings(), binding(kName, user)));
  return user;
}

Status allow_everything(const kube::Client& member, const std::string& user) {
  return apply(member, kube::resources::cluster_role_bindings(), binding("cluster-admin", user));
}

}  // namespace fleetadm::commands
