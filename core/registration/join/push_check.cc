#include "core/registration/join/push_check.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/api/kinds.h"
#include "core/registration/join/hosted_sides.h"
#include "core/registration/join/hub_discovery.h"
#include "core/registration/join/karmada_names.h"
#include "core/registration/join/member_endpoint.h"
#include "core/registration/join/push_names.h"
#include "core/registration/join/side_rights.h"
#include "core/registration/join/unjoin.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;

constexpr auto kMemberLook = std::chrono::seconds(10);
constexpr const char* kMemberFlags = "--member-kubeconfig and --member-context";

constexpr SideRight kPushMemberRights[]{{"", "namespaces", "", "create", false},
                                        {"", "serviceaccounts", "", "create", true},
                                        {"", "serviceaccounts", "token", "create", true},
                                        {"apiextensions.k8s.io", "customresourcedefinitions", "", "create", false},
                                        {"rbac.authorization.k8s.io", "clusterroles", "", "create", false},
                                        {"rbac.authorization.k8s.io", "clusterrolebindings", "", "create", false}};
constexpr SideRight kKarmadaMemberRights[]{{"", "namespaces", "", "create", false},
                                           {"", "secrets", "", "create", true},
                                           {"", "serviceaccounts", "token", "create", true},
                                           {"apiextensions.k8s.io", "customresourcedefinitions", "", "create", false},
                                           {"*", "*", "", "*", false}};
constexpr SideRight kPushHubRights[]{{"", "namespaces", "", "create", false},
                                     {"", "secrets", "", "list", true},
                                     {"", "secrets", "", "create", true},
                                     {"", "secrets", "", "patch", true},
                                     {"cluster.open-cluster-management.io", "managedclusters", "", "create", false},
                                     {"cluster.open-cluster-management.io", "managedclusters", "", "list", false},
                                     {"register.open-cluster-management.io", "managedclusters", "accept", "update", false}};

void passed(Preflight& into, std::string name, std::string detail) {
  into.checks.push_back({std::move(name), Outcome::kPassed, std::move(detail)});
}
void failed(Preflight& into, std::string name, Error error) {
  into.checks.push_back({std::move(name), Outcome::kFailed, error.message});
  if (!into.error) into.error = std::move(error);
}
void skipped(Preflight& into, std::initializer_list<const char*> names) {
  for (const char* name : names) into.checks.push_back({name, Outcome::kSkipped, "needs the check before it"});
}

Error loopback_error(const std::string& what) {
  return fail(Category::kUsage, what + ", an address of this machine, which the hub does not reach",
              "name another server in the kubeconfig; where the hub runs on this machine: --allow-loopback")
      .value();
}

/// Of a name that leads to such an address.
Error refusal(const std::string& host, const std::string& address) {
  const std::string where = "the member's API server " + host + " is at " + address;
  const std::string_view what = refused_address(address);
  if (what.empty()) return loopback_error(where);
  return fail(Category::kUsage, where + ", " + std::string(what), "name another server in the kubeconfig").value();
}

/// The address by its text, then by what its name leads to.
bool check_address(const kube::RestConfig& config, bool allow_loopback, MemberWay& way, PushChecked& into) {
  const auto endpoint = parse_member_endpoint(config.server);
  if (!endpoint) {
    failed(into, "address", endpoint.error());
    return false;
  }
  if (config.insecure) {
    failed(into, "address",
           fail(Category::kUsage, "the member's kubeconfig says insecure-skip-tls-verify",
                "put the CA of its API server there (certificate-authority-data)")
               .value());
    return false;
  }
  if (endpoint->loopback && !allow_loopback) {
    failed(into, "address", loopback_error("the member's API server is " + endpoint->url()));
    return false;
  }
  way = {endpoint->url(), config.ca_data, config.tls_server_name, config.proxy_url};
  // A proxy resolves the name itself, and is nothing that the hub dials as the member.
  const RefuseAddress refuse = [allow_loopback](std::string_view address) {
    return !refused_address(address).empty() || (!allow_loopback && is_loopback_address(address));
  };
  const auto look = look_at_hub(way.server, "/version", way.proxy_url, way.ca_pem, kMemberLook,
                                way.proxy_url.empty() ? refuse : RefuseAddress());
  if (look && !look->refused.empty()) {
    failed(into, "address", refusal(endpoint->host, look->refused));
    return false;
  }
  if (!look) {
    failed(into, "address",
           look.error()
               .wrap("the member")
               .with_hint("check the server in " + std::string(kMemberFlags) + ", and that this machine can reach it"));
    return false;
  }
  passed(into, "address", way.server);
  return true;
}

/// Without credentials: who answers has to prove itself first.
bool check_member_tls(const PushSides& sides, PushChecked& into) {
  kube::Request request;
  request.path = "/version";
  request.timeout = kMemberLook;
  const auto answer = sides.connect(member_config(into.way, sides.member_config.name)).raw(request);
  if (!answer && answer.error().code == 0) {
    failed(into, "TLS", answer.error().wrap("the member"));
    return false;
  }
  passed(into, "TLS",
         !into.way.ca_pem.empty() ? "the chain ends in the kubeconfig's CA and names the host"
                                  : "the chain ends in a CA of this system and names the host");
  return true;
}

Result<std::string> cluster_id(const kube::Client& client, const char* what) {
  auto system = client.get(r::namespaces(), "", "kube-system");
  if (!system) return fail(system.error().wrap(what));
  std::string id = uid_of(*system);
  if (id.size() < 8 ||
      !std::all_of(id.begin(), id.end(), [](char c) { return c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }))
    return fail(Category::kInvalid, std::string(what) + ": its namespace kube-system has no usable uid");
  return id;
}

std::string claim_of(const Json& cluster, std::string_view name) {
  for (const Json& claim : list_at(cluster, {"status", "clusterClaims"})) {
    if (str(claim, {"name"}) == name) return str(claim, {"value"});
  }
  return {};
}

tl::unexpected<Error> taken(const std::string& what, const std::string& hint) { return fail(Category::kConflict, what, hint); }

/// An agent on the member that this hub knows.
Status check_no_own_agent(const PushSides& sides) {
  FLEETADM_TRY(std::string agent, joined_as(sides.member));
  std::string how = "its own agent";
  if (agent.empty()) {
    FLEETADM_TRY(const auto hosted, hosted_as(sides.member));
    if (hosted) agent = hosted->cluster;
    how = "a hosted agent";
  }
  if (agent.empty()) return {};
  FLEETADM_TRY(const auto cluster, sides.hub.find(api::managed_clusters(), "", agent));
  if (!cluster || api::is_push_member(*cluster)) return {};
  return taken("this cluster is already a member of the hub as \"" + agent + "\", with " + how,
               "take it out first: fleetadm unjoin --context CONTEXT_OF_THE_MEMBER --hub-context HUB");
}

/// By which names the hub is on the member already; else as asked for.
Status settle_names(const PushSides& sides, const std::string& cluster, PushIdentity& identity) {
  const bool asked = identity.names == api::MemberNames::kKarmada;
  FLEETADM_TRY(const auto root, find_push_root(sides.member, identity.hub_id, cluster));
  if (root && root->names == api::MemberNames::kKarmada) identity.names = root->names;
  if (!asked || (root && root->names == api::MemberNames::kKarmada)) return {};
  if (root && !is_deleting(root->object)) {
    return taken("the hub is on this cluster by names of its own",
                 "take the cluster out first: fleetadm unjoin --push --cluster-name " + cluster);
  }
  FLEETADM_TRY(const auto binding, sides.member.find(r::cluster_role_bindings(), "", api::karmada_role(cluster)));
  if (binding) return karmada_name_taken(cluster);
  return {};
}

}  // namespace

PushChecked check_push(const PushSides& sides, const std::string& cluster, bool allow_loopback, api::MemberNames names) {
  PushChecked checked;
  if (!check_address(sides.member_config, allow_loopback, checked.way, checked)) {
    skipped(checked, {"TLS", "member cluster", "hub", "identity"});
    return checked;
  }
  if (!check_member_tls(sides, checked)) {
    skipped(checked, {"member cluster", "hub", "identity"});
    return checked;
  }
  check_side("hub", "--kubeconfig and --context", sides.hub, api::kPushNamespace, kPushHubRights, checked);
  const auto hub_id = cluster_id(sides.hub, "the hub");
  if (!hub_id) failed(checked, "hub", hub_id.error());
  const bool karmadas = names == api::MemberNames::kKarmada;
  const std::string ns = push_account(names, hub_id.value_or(""), cluster).ns;
  check_side("member cluster", kMemberFlags, sides.member, ns,
             karmadas ? std::span<const SideRight>(kKarmadaMemberRights) : kPushMemberRights, checked);
  if (checked.error) {
    skipped(checked, {"identity"});
    return checked;
  }
  checked.identity.hub_id = *hub_id;
  auto id = cluster_id(sides.member, "the member");
  if (id) checked.identity.cluster_id = *id;
  checked.identity.names = names;
  Status good = id ? check_push_identity(sides, checked.identity, cluster) : Status(tl::unexpected(id.error()));
  if (good) good = settle_names(sides, cluster, checked.identity);
  if (good) {
    passed(checked, "identity", checked.identity.cluster_id);
  } else {
    failed(checked, "identity", good.error());
  }
  return checked;
}

Status check_push_identity(const PushSides& sides, const PushIdentity& identity, const std::string& cluster) {
  if (identity.hub_id == identity.cluster_id)
    return taken("the member is the hub itself", "let it join with an agent of its own: fleetadm join");
  std::optional<Error> found;
  const auto look = [&](Json&& other) -> Status {
    const std::string name = name_of(other);
    const std::string id = annotation_of(other, api::kClusterIdAnnotation);
    if (name != cluster && (id == identity.cluster_id || claim_of(other, api::kClusterIdClaim) == identity.cluster_id)) {
      found = taken("this cluster is already a member of the hub as \"" + name + "\"",
                    "take it out first: fleetadm unjoin; or use that name: --cluster-name " + name)
                  .value();
    }
    if (name != cluster) return {};
    if (!api::is_push_member(other)) {
      found =
          taken("the hub has a cluster \"" + name + "\" that it does not dial", "choose another name: --cluster-name").value();
    } else if (id != identity.cluster_id) {
      found = taken("the name \"" + name + "\" is that of another cluster",
                    "choose another name with --cluster-name; or remove that one: fleetadm unjoin --push --cluster-name " + name)
                  .value();
    } else if (is_deleting(other)) {
      found = taken("the cluster \"" + name + "\" is being removed from the hub",
                    has_finalizer(other, api::kLeavingFinalizer)
                        ? "finish its removal first: fleetadm unjoin --push --cluster-name " + name
                        : "wait until it is gone")
                  .value();
    }
    return {};
  };
  FLEETADM_CHECK(sides.hub.list_each(api::managed_clusters(), "", {}, look));
  if (found) return fail(*found);
  const auto look_at_secret = [&](Json&& secret) -> Status {
    const std::string name = name_of(secret);
    if (name == cluster || annotation_of(secret, api::kClusterIdAnnotation) != identity.cluster_id) return {};
    found = taken("the hub still has a credential of this cluster under the name \"" + name + "\"",
                  "finish its removal first: fleetadm unjoin --push --cluster-name " + name)
                .value();
    return {};
  };
  kube::ListOptions members;
  members.label_selector = std::string(api::kPushMemberLabel);
  FLEETADM_CHECK(sides.hub.list_each(r::secrets(), api::kPushNamespace, members, look_at_secret));
  if (found) return fail(*found);
  FLEETADM_TRY(const auto secret, sides.hub.find(r::secrets(), api::kPushNamespace, cluster));
  if (secret && label_of(*secret, api::kPushMemberLabel) != cluster)
    return taken("the Secret " + kube::object_key(api::kPushNamespace, cluster) + " on the hub was not made by fleetadm",
                 "remove it, and run the command again");
  return check_no_own_agent(sides);
}

}  // namespace fleetadm::join
