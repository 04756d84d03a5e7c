#include "core/registration/join/push_join.h"

#include <algorithm>
#include <utility>

#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/install/undo.h"
#include "core/install/wait_deleted.h"
#include "core/registration/hub/cluster_defaulter.h"
#include "core/registration/hub/rbac.h"
#include "core/registration/join/hosted_sides.h"
#include "core/registration/join/hub_discovery.h"
#include "core/registration/join/hub_secrets.h"
#include "core/registration/join/karmada_names.h"
#include "core/registration/join/member_endpoint.h"
#include "core/registration/join/push_names.h"
#include "core/registration/join/side_rights.h"
#include "core/registration/join/unjoin.h"
#include "kubeclient/base/encoding.h"
#include "templates/templates.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;
using install::Action;
using install::Change;

constexpr auto kMemberLook = std::chrono::seconds(10);
constexpr const char* kMemberFlags = "--member-kubeconfig and --member-context";

constexpr SideRight kPushMemberRights[]{{"", "namespaces", "", "create", false},
                                        {"", "serviceaccounts", "", "create", true},
                                        {"", "serviceaccounts", "token", "create", true},
                                        {"apiextensions.k8s.io", "customresourcedefinitions", "", "create", false},
                                        {"rbac.authorization.k8s.io", "roles", "", "create", true},
                                        {"rbac.authorization.k8s.io", "rolebindings", "", "create", true},
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

void set_cluster(const PushChecked& checked, const PushWish& wish, Json& cluster) {
  for (const auto& [key, value] : wish.labels) at_or_make(cluster, {"metadata", "labels", key}) = value;
  for (const auto& [key, value] : wish.annotations) at_or_make(cluster, {"metadata", "annotations", key}) = value;
  at_or_make(cluster, {"metadata", "labels", api::kModeLabel}) = std::string(api::kPushMode);
  at_or_make(cluster, {"metadata", "annotations", api::kClusterIdAnnotation}) = checked.identity.cluster_id;
  if (checked.identity.names == api::MemberNames::kKarmada)
    at_or_make(cluster, {"metadata", "annotations", api::kMemberNamesAnnotation}) = std::string(api::kKarmadaNames);
  Json& spec = at_or_make(cluster, {"spec"});
  spec["hubAcceptsClient"] = true;
  Json config{{"url", checked.way.server}};
  if (!checked.way.ca_pem.empty()) config["caBundle"] = base64_encode(checked.way.ca_pem);
  spec["managedClusterClientConfigs"] = Json::array({std::move(config)});
}

/// After a departure that had hardly begun.
void stay(Json& cluster) {
  if (!has_finalizer(cluster, api::kLeavingFinalizer)) return;
  Json& finalizers = cluster["metadata"]["finalizers"];
  finalizers.erase(std::remove(finalizers.begin(), finalizers.end(), api::kLeavingFinalizer), finalizers.end());
}

/// With all that the hub's controllers would add before they know how the cluster is: each of them would write it once more.
Json new_push_cluster(const PushChecked& checked, const PushWish& wish, Instant now) {
  Json cluster{{"apiVersion", api::managed_clusters().api_version()},
               {"kind", api::managed_clusters().kind},
               {"metadata", {{"name", wish.cluster}}}};
  set_cluster(checked, wish, cluster);
  registration::hub::apply_cluster_defaults(cluster, now);
  cluster["metadata"]["finalizers"].push_back(std::string(registration::hub::kApiCleanupFinalizer));
  return cluster;
}

/// The uid of what owns the rest; empty in a dry run that did not make it.
Result<std::string> root_uid(const kube::Client& member, const PushIdentity& identity, const std::string& cluster) {
  FLEETADM_TRY(const auto found, find_push_root(member, identity.hub_id, cluster));
  return found ? uid_of(found->object) : std::string();
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

class PushRun {
 public:
  PushRun(const PushSides& sides, const PushChecked& checked, const PushWish& wish, const install::Options& how,
          const Clock& clock)
      : sides_(sides),
        checked_(checked),
        wish_(wish),
        how_(how),
        now_(clock.now()),
        account_(push_account(checked.identity.names, checked.identity.hub_id, wish.cluster)),
        dry_(sides.hub.gate().dry_run != kube::DryRun::kNone) {}

  Status run() {
    FLEETADM_CHECK(on_member());
    FLEETADM_TRY(const std::string kubeconfig, credential());
    FLEETADM_CHECK(on_hub(kubeconfig));
    return cluster();
  }

  std::vector<Change> all() const {
    std::vector<Change> changes = member_;
    changes.insert(changes.end(), hub_.begin(), hub_.end());
    changes.insert(changes.end(), clusters_.begin(), clusters_.end());
    return changes;
  }

  /// In reverse. The namespace of all members stays.
  std::vector<std::string> undo() const {
    std::vector<std::string> left = install::undo_created(sides_.hub, api::kPushPart, hub_);
    const auto more = install::undo_created(sides_.member, api::push_part_on_member(checked_.identity.hub_id), member_);
    left.insert(left.end(), more.begin(), more.end());
    return left;
  }

 private:
  Status apply(const kube::Client& client, std::string part, std::vector<Json> objects, std::vector<Change>& into) const {
    install::Options how = how_;
    how.part = std::move(part);
    how.told = [&](const Change& change) {
      into.push_back(change);
      if (how_.told) how_.told(change);
    };
    return install::apply_all(client, std::move(objects), how).map([](const auto&) {});
  }

  /// What another has made does not grant what we need: only the types may be another's.
  Status check_ours(const std::vector<Change>& changes) const {
    const bool shares = checked_.identity.names == api::MemberNames::kKarmada;
    for (const Change& change : changes) {
      if (change.action != Action::kKeptForeign || change.kind == "CustomResourceDefinition") continue;
      if (shares && is_shared_with_karmada(change)) continue;
      return taken(
          change.kind + " " + kube::object_key(change.ns, change.name) + " was not made by this hub, and is left as it is",
          "remove it, and run the command again");
    }
    return {};
  }

  Status on_member() {
    const std::string part = api::push_part_on_member(checked_.identity.hub_id);
    if (checked_.identity.names == api::MemberNames::kKarmada && !dry_)
      FLEETADM_CHECK(wait_for_departed(sides_.member, wish_.cluster, part, how_.timeout, how_.stop));
    FLEETADM_TRY(const auto leaving, sides_.member.find(r::namespaces(), "", account_.ns));
    if (leaving && is_deleting(*leaving) && !dry_)
      FLEETADM_CHECK(install::wait_deleted(sides_.member, r::namespaces(), *leaving, how_.timeout, how_.stop));
    FLEETADM_TRY(auto objects, push_root(checked_.identity, wish_.cluster));
    if (!dry_) {  // such a one is told what depends on what it would make, where that comes together
      FLEETADM_CHECK(apply(sides_.member, part, std::exchange(objects, {}), member_));
      FLEETADM_CHECK(check_ours(member_));
    }
    FLEETADM_TRY(const std::string uid, root_uid(sides_.member, checked_.identity, wish_.cluster));
    FLEETADM_TRY(auto types, push_types());
    objects.insert(objects.end(), std::make_move_iterator(types.begin()), std::make_move_iterator(types.end()));
    FLEETADM_TRY(auto more, push_objects(checked_.identity, wish_.cluster, uid, wish_.full_rights));
    objects.insert(objects.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    FLEETADM_CHECK(apply(sides_.member, part, std::move(objects), member_));
    return check_ours(member_);
  }

  Status try_token(const std::string& token) const {
    const auto as_account = member_config(checked_.way, sides_.member_config.name, token);
    return check_member_token(sides_.connect(as_account), account_, how_.stop);
  }

  /// What is stored where it is good, and of this cluster.
  Result<std::string> credential() const {
    FLEETADM_TRY(const auto secret, sides_.hub.find(r::secrets(), api::kPushNamespace, wish_.cluster));
    std::string stored;
    if (secret && label_of(*secret, api::kPushMemberLabel) == wish_.cluster &&
        annotation_of(*secret, api::kClusterIdAnnotation) == checked_.identity.cluster_id)
      stored = base64_decode(str(*secret, {"data", "kubeconfig"})).value_or("");
    const std::string kept = token_to_keep(stored, checked_.way, now_);
    if (!kept.empty() && (dry_ || try_token(kept))) return stored;
    if (dry_) return member_kubeconfig(checked_.way, {});
    FLEETADM_TRY(const std::string token, new_member_token(sides_.member, account_, wish_.token_lifetime));
    FLEETADM_CHECK(try_token(token));
    return member_kubeconfig(checked_.way, token);
  }

  /// After a departure that let them go and did not come to its end.
  Status take_works_up() const {
    FLEETADM_TRY(const auto secret, sides_.hub.find(r::secrets(), api::kPushNamespace, wish_.cluster));
    if (!secret || annotation_of(*secret, api::kWorksLetGo).empty()) return {};
    return sides_.hub
        .modify(r::secrets(), api::kPushNamespace, wish_.cluster,
                [](Json& object) -> Status {
                  erase_at(object, {"metadata", "annotations", api::kWorksLetGo});
                  return {};
                })
        .map([](const Json&) {});
  }

  Status on_hub(const std::string& kubeconfig) {
    std::vector<Json> objects;
    FLEETADM_TRY(const auto ns, sides_.hub.find(r::namespaces(), "", api::kPushNamespace));
    if (!ns) {
      objects.push_back(
          {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", std::string(api::kPushNamespace)}}}});
      if (!dry_) FLEETADM_CHECK(apply(sides_.hub, std::string(install::kHubPart), std::exchange(objects, {}), hub_));
    }
    if (!dry_) FLEETADM_CHECK(take_works_up());
    objects.push_back(push_secret(wish_.cluster, checked_.identity.cluster_id, kubeconfig));
    FLEETADM_CHECK(apply(sides_.hub, std::string(api::kPushPart), std::move(objects), hub_));
    return check_ours(hub_);
  }

  Status cluster() {
    const kube::Resource& type = api::managed_clusters();
    Change change{type.kind, {}, wish_.cluster, Action::kUnchanged, type.group};
    FLEETADM_TRY(const auto before, sides_.hub.find(type, "", wish_.cluster));
    if (!before) {
      const Json made = new_push_cluster(checked_, wish_, now_);
      FLEETADM_CHECK(sides_.hub.create(type, "", made).map([](const Json&) {}));
      change.action = Action::kCreated;
    } else {
      const auto mend = [&](Json& object) -> Status {
        if (uid_of(object) != uid_of(*before)) return fail(Category::kConflict, "the ManagedCluster was replaced meanwhile");
        set_cluster(checked_, wish_, object);
        stay(object);
        return {};
      };
      FLEETADM_TRY(const Json after, sides_.hub.modify(type, "", wish_.cluster, mend));
      Json wanted = *before;
      set_cluster(checked_, wish_, wanted);
      if (wanted != *before) change.action = Action::kConfigured;
    }
    if (how_.told) how_.told(change);
    clusters_.push_back(std::move(change));
    return {};
  }

  const PushSides& sides_;
  const PushChecked& checked_;
  const PushWish& wish_;
  const install::Options& how_;
  Instant now_;
  MemberAccount account_;
  bool dry_;
  std::vector<Change> member_;
  std::vector<Change> hub_;
  std::vector<Change> clusters_;
};

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

Result<std::vector<Json>> push_root(const PushIdentity& identity, const std::string& cluster) {
  if (identity.names == api::MemberNames::kKarmada) return karmada_binding(identity.hub_id, cluster);
  return templates::render(
      "push/namespace.yaml",
      {{"namespace", api::push_namespace_on_member(identity.hub_id)}, {"cluster", cluster}, {"hub", identity.hub_id}});
}

Result<std::vector<Json>> push_objects(const PushIdentity& identity, const std::string& cluster, const std::string& owner_uid,
                                       bool full_rights) {
  if (identity.names == api::MemberNames::kKarmada) return karmada_objects(identity.hub_id, cluster, owner_uid);
  const std::string ns = api::push_namespace_on_member(identity.hub_id);
  FLEETADM_TRY(auto objects, templates::render("push/member.yaml", {{"namespace", ns}}));
  if (full_rights) {
    FLEETADM_TRY(auto more, templates::render("push/full-rights.yaml", {{"namespace", ns}}));
    objects.insert(objects.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  for (Json& object : objects) {
    if (!namespace_of(object).empty() || owner_uid.empty()) continue;
    object["metadata"]["ownerReferences"] =
        Json::array({{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"name", ns}, {"uid", owner_uid}}});
  }
  return objects;
}

Result<std::vector<Json>> push_types() { return templates::render("crds/spoke/appliedmanifestworks.yaml", {}); }

Json push_secret(const std::string& cluster, const std::string& cluster_id, const std::string& kubeconfig) {
  Json secret = kubeconfig_secret(api::kPushNamespace, cluster, kubeconfig);
  secret["metadata"]["labels"] = {{std::string(api::kPushMemberLabel), cluster}};
  secret["metadata"]["annotations"] = {{std::string(api::kClusterIdAnnotation), cluster_id}};
  return secret;
}

Status push_join(const PushSides& sides, const PushChecked& checked, const PushWish& wish, const install::Options& how,
                 const Clock& clock, std::vector<Change>& changes, std::vector<std::string>& left) {
  PushRun run(sides, checked, wish, how, clock);
  const Status done = run.run();
  changes = run.all();
  const bool dry = sides.hub.gate().dry_run != kube::DryRun::kNone;
  if (!done && !dry && !how.stop.stop_requested()) left = run.undo();
  return done;
}

Result<std::optional<std::string>> push_kubeconfig(const kube::Client& hub, const std::string& cluster) {
  FLEETADM_TRY(const auto secret, hub.find(r::secrets(), api::kPushNamespace, cluster));
  if (!secret || label_of(*secret, api::kPushMemberLabel) != cluster) return std::nullopt;
  FLEETADM_TRY(std::string text, base64_decode(str(*secret, {"data", "kubeconfig"})));
  return text;
}

}  // namespace fleetadm::join
