#include "core/registration/hub/rbac.h"

#include <array>

#include "core/api/kinds.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::registration::hub {
namespace {

constexpr std::string_view kRolePrefix = "open-cluster-management:managedcluster:";
constexpr const char* kRbacGroup = "rbac.authorization.k8s.io";

Json object_of(const kube::Resource& resource, std::string name, std::string_view cluster) {
  return {{"apiVersion", resource.api_version()},
          {"kind", resource.kind},
          {"metadata", {{"name", std::move(name)}, {"labels", {{std::string(api::kClusterNameLabel), std::string(cluster)}}}}}};
}

Json rule(std::vector<std::string> verbs, std::vector<std::string> groups, std::vector<std::string> resources,
          std::vector<std::string> names = {}) {
  Json out = {{"verbs", std::move(verbs)}, {"apiGroups", std::move(groups)}, {"resources", std::move(resources)}};
  if (!names.empty()) out["resourceNames"] = std::move(names);
  return out;
}

Json subjects(std::string_view cluster) {
  Json out = Json::array();
  for (const std::string_view prefix : {api::kClusterGroupPrefix, std::string_view("open-cluster-management:")}) {
    out.push_back({{"kind", "Group"}, {"apiGroup", kRbacGroup}, {"name", std::string(prefix) + std::string(cluster)}});
  }
  return out;
}

Json role_ref(std::string_view name) { return {{"apiGroup", kRbacGroup}, {"kind", "ClusterRole"}, {"name", std::string(name)}}; }

Json binding(std::string name, std::string_view cluster, std::string_view role) {
  Json out = object_of(kube::resources::role_bindings(), std::move(name), cluster);
  out["metadata"]["namespace"] = std::string(cluster);
  out["subjects"] = subjects(cluster);
  out["roleRef"] = role_ref(role);
  return out;
}

}  // namespace

std::string cluster_role_name(std::string_view cluster) { return std::string(kRolePrefix) + std::string(cluster); }
std::string_view cluster_of_role(std::string_view role) {
  return role.starts_with(kRolePrefix) ? role.substr(kRolePrefix.size()) : std::string_view();
}
std::string registration_binding_name(std::string_view cluster) { return cluster_role_name(cluster) + ":registration"; }
std::string work_binding_name(std::string_view cluster) { return cluster_role_name(cluster) + ":work"; }
std::string figures_binding_name(std::string_view cluster) { return cluster_role_name(cluster) + ":figures"; }

Json cluster_namespace(std::string_view cluster) {
  Json out = object_of(kube::resources::namespaces(), std::string(cluster), cluster);
  out["metadata"]["annotations"][std::string(kNamespaceMadeForAnnotation)] =
      std::string(cluster);  // ensure() gives it at creation only
  return out;
}

Json cluster_role(std::string_view cluster, bool accepted) {
  const std::string group = api::managed_clusters().group;
  const std::string name(cluster);
  Json out = object_of(kube::resources::cluster_roles(), cluster_role_name(cluster), cluster);
  if (!accepted) {
    out["rules"] = Json::array({rule({"get", "list", "watch"}, {group}, {"managedclusters"}, {name})});
    return out;
  }
  out["rules"] = Json::array({
      rule({"create", "get", "list", "watch"}, {"certificates.k8s.io"}, {"certificatesigningrequests"}),
      rule({"renew"}, {"register.open-cluster-management.io"}, {"managedclusters/clientcertificates"}),
      rule({"get", "list", "update", "watch"}, {group}, {"managedclusters"}, {name}),
      rule({"patch", "update"}, {group}, {"managedclusters/status"}, {name}),
  });
  return out;
}

Json cluster_role_binding(std::string_view cluster) {
  Json out = object_of(kube::resources::cluster_role_bindings(), cluster_role_name(cluster), cluster);
  out["subjects"] = subjects(cluster);
  out["roleRef"] = role_ref(cluster_role_name(cluster));
  return out;
}

Json registration_binding(std::string_view cluster) {
  return binding(registration_binding_name(cluster), cluster, kSharedRegistrationRole);
}

Json work_binding(std::string_view cluster) {
  Json out = binding(work_binding_name(cluster), cluster, kSharedWorkRole);
  out["metadata"]["finalizers"] = Json::array({std::string(kWorkCleanupFinalizer)});
  return out;
}

Json figures_binding(std::string_view cluster) { return binding(figures_binding_name(cluster), cluster, kFiguresRole); }

Json cluster_lease(std::string_view cluster, Instant now) {
  Json out = object_of(kube::resources::leases(), std::string(api::kClusterLease), cluster);
  out["metadata"]["namespace"] = std::string(cluster);
  out["spec"] = {{"holderIdentity", std::string(api::kClusterLease)}, {"renewTime", format_micro_time(now)}};
  return out;
}

std::vector<Json> shared_roles() {
  const auto& roles = kube::resources::cluster_roles();
  const std::string addon = api::managed_cluster_addons().group;
  const std::string work = api::manifest_works().group;
  Json registration = object_of(roles, std::string(kSharedRegistrationRole), "");
  registration["rules"] = Json::array({
      rule({"get", "list", "watch", "update"}, {"coordination.k8s.io"}, {"leases"}),
      rule({"get", "list", "watch"}, {addon}, {"managedclusteraddons"}),
      rule({"patch", "update"}, {addon}, {"managedclusteraddons/status"}),
      rule({"create"}, {"events.k8s.io"}, {"events"}),
  });
  Json works = object_of(roles, std::string(kSharedWorkRole), "");
  works["rules"] = Json::array({
      rule({"create", "patch", "update"}, {"", "events.k8s.io"}, {"events"}),
      rule({"get", "list", "watch", "update", "patch"}, {work}, {"manifestworks"}),
      rule({"patch", "update"}, {work}, {"manifestworks/status"}),
  });
  return {std::move(registration), std::move(works)};
}

std::string reserved_name(std::string_view cluster, std::string_view hub_namespace) {
  if (cluster_role_name(cluster) == kSharedRegistrationRole || cluster_role_name(cluster) == kSharedWorkRole) {
    return "the role of a cluster named \"" + std::string(cluster) + "\" would replace a role that all clusters share";
  }
  constexpr std::array<std::string_view, 5> kSystem{"kube-system", "kube-public", "kube-node-lease", api::kHubNamespace,
                                                    api::kBootstrapNamespace};
  for (const std::string_view ns : kSystem) {
    if (cluster == ns) return "namespace \"" + std::string(cluster) + "\" belongs to the hub itself";
  }
  if (cluster == hub_namespace) return "namespace \"" + std::string(cluster) + "\" belongs to the hub itself";
  return {};
}

}  // namespace fleetadm::registration::hub
