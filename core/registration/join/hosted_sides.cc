#include "core/registration/join/hosted_sides.h"

#include <utility>

#include "core/api/hosted_member.h"
#include "core/api/kinds.h"
#include "core/install/install.h"
#include "core/registration/join/side_rights.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/log.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;

constexpr SideRight kMemberRights[]{{"", "namespaces", "", "create", false},
                                    {"apiextensions.k8s.io", "customresourcedefinitions", "", "create", false},
                                    {"rbac.authorization.k8s.io", "clusterroles", "", "create", false},
                                    {"rbac.authorization.k8s.io", "clusterrolebindings", "", "create", false},
                                    {"", "serviceaccounts", "token", "create", true}};
constexpr SideRight kHostingRights[]{{"", "namespaces", "", "create", false},
                                     {"rbac.authorization.k8s.io", "roles", "", "create", true},
                                     {"apps", "deployments", "", "create", true},
                                     {"", "secrets", "", "create", true},
                                     {"", "secrets", "", "delete", true}};

tl::unexpected<Error> hosted_elsewhere(const Hosting& now) {
  return fail(Category::kConflict,
              "this cluster is already hosted, as \"" + now.cluster + "\" with the hub " + now.hub_server + ", by " + now.by,
              "leave that fleet first: fleetadm unjoin --context HOSTING_CLUSTER --mode hosted --cluster-name " + now.cluster);
}

/// An agent that runs on the cluster itself has at least one of these.
Status check_no_agent(const kube::Client& member) {
  FLEETADM_TRY(const auto deployment, member.find(r::deployments(), api::kAgentNamespace, api::kAgentDeployment));
  FLEETADM_TRY(const auto credential, member.find(r::secrets(), api::kAgentNamespace, api::kHubKubeconfigSecret));
  if (!deployment && !credential) return {};
  return fail(Category::kConflict, "an agent runs on the member itself (namespace " + std::string(api::kAgentNamespace) + ")",
              "remove it first: fleetadm unjoin --context CONTEXT_OF_THE_MEMBER");
}

}  // namespace

void check_hosted_sides(const kube::Client& hosting, const std::string& ns, const kube::Client& member, Preflight& into) {
  check_side("member cluster", "--managed-cluster-kubeconfig and --managed-cluster-context", member, api::kAgentNamespace,
             kMemberRights, into);
  check_side("hosting cluster", "--kubeconfig and --context", hosting, ns, kHostingRights, into);
}

Result<std::string> hosting_by(const kube::Client& hosting, std::string_view ns) {
  FLEETADM_TRY(const Json system, hosting.get(r::namespaces(), "", "kube-system"));
  return uid_of(system) + "/" + std::string(ns);
}

Result<std::optional<Hosting>> hosted_as(const kube::Client& member) {
  FLEETADM_TRY(const auto account, member.find(r::service_accounts(), api::kAgentNamespace, api::kAgentDeployment));
  if (!account || label_of(*account, install::kPartLabel) != install::kAgentPart) return std::nullopt;
  Hosting hosting{annotation_of(*account, api::kHostedAsAnnotation), annotation_of(*account, api::kHostedHubAnnotation),
                  annotation_of(*account, api::kHostedByAnnotation)};
  if (hosting.cluster.empty()) return std::nullopt;
  return hosting;
}

Status check_hostable(const kube::Client& hosting, const std::string& ns, const kube::Client& member, const Hosting& wanted) {
  FLEETADM_TRY(const auto now, hosted_as(member));
  if (now && *now != wanted) return hosted_elsewhere(*now);
  FLEETADM_CHECK(check_no_agent(member));
  kube::ListOptions which;
  which.label_selector = std::string(api::kHostedMemberLabel) + "=" + wanted.cluster;
  FLEETADM_TRY(const Json same_name, hosting.list(r::secrets(), ns, which));
  for (const Json& secret : list_at(same_name, {"items"})) {
    const bool by_join = name_of(secret) == api::hosted_member_secret(wanted.cluster);
    if (by_join && now) continue;
    return fail(Category::kConflict,
                "a member \"" + wanted.cluster + "\" is already hosted in namespace " + ns + " (secret " + name_of(secret) + ")",
                by_join ? "it is another cluster; remove it first, or choose another name: fleetadm unjoin --mode hosted "
                          "--cluster-name " +
                              wanted.cluster
                        : "that Secret was made by hand: delete it, and run the command again");
  }
  return {};
}

Status check_not_hosted(const kube::Client& spoke) {
  FLEETADM_TRY(const auto now, hosted_as(spoke));
  return now ? Status(hosted_elsewhere(*now)) : Status();
}

}  // namespace fleetadm::join
