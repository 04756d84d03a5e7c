#include "core/registration/join/push_join.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/install/undo.h"
#include "core/install/wait_deleted.h"
#include "core/registration/hub/cluster_defaulter.h"
#include "core/registration/hub/rbac.h"
#include "core/registration/join/karmada_names.h"
#include "core/registration/join/push_former.h"
#include "core/registration/join/push_names.h"
#include "core/registration/join/push_objects.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;
using install::Action;
using install::Change;

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
  return cluster;
}

/// The uid of what owns the rest; empty in a dry run that did not make it.
Result<std::string> root_uid(const kube::Client& member, const PushIdentity& identity, const std::string& cluster) {
  FLEETADM_TRY(const auto found, find_push_root(member, identity.hub_id, cluster));
  return found ? uid_of(found->object) : std::string();
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
    FLEETADM_CHECK(cluster());
    if (!former_.there) return {};
    return remove_former_push(sides_.member, account_.ns, api::push_part_on_member(checked_.identity.hub_id),
                              [this](Change change) { tell(std::move(change), member_); });
  }

  std::vector<Change> all() const {
    std::vector<Change> changes = member_;
    changes.insert(changes.end(), hub_.begin(), hub_.end());
    changes.insert(changes.end(), clusters_.begin(), clusters_.end());
    return changes;
  }

  /// In reverse. The namespace of all members stays.
  std::vector<std::string> undo() const {
    std::vector<std::string> left;
    if (!made_namespace_.is_null() && !drop_namespace()) left.push_back("Namespace " + wish_.cluster);
    const auto of_hub = install::undo_created(sides_.hub, api::kPushPart, hub_);
    left.insert(left.end(), of_hub.begin(), of_hub.end());
    const auto more = install::undo_created(sides_.member, api::push_part_on_member(checked_.identity.hub_id), member_);
    left.insert(left.end(), more.begin(), more.end());
    return left;
  }

 private:
  Status apply(const kube::Client& client, std::string part, std::vector<Json> objects, std::vector<Change>& into) const {
    install::Options how = how_;
    how.part = std::move(part);
    how.told = [&](const Change& change) { tell(change, into); };
    return install::apply_all(client, std::move(objects), how).map([](const auto&) {});
  }
  void tell(Change change, std::vector<Change>& into) const {
    if (how_.told) how_.told(change);
    into.push_back(std::move(change));
  }

  /// What another has made does not grant what we need: only the types may be another's.
  Status check_ours(const std::vector<Change>& changes) const {
    const bool shares = checked_.identity.names == api::MemberNames::kKarmada;
    for (const Change& change : changes) {
      if (change.action != Action::kKeptForeign || change.kind == "CustomResourceDefinition") continue;
      if (shares && is_shared_with_karmada(change)) continue;
      return fail(
          Category::kConflict,
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
    FLEETADM_TRY(former_, find_former_push(sides_.member, account_.ns, part));
    FLEETADM_TRY(auto more, push_objects(checked_.identity, wish_.cluster, uid, wish_.full_rights || former_.full_rights));
    FLEETADM_TRY(const auto admin, sides_.member.find(r::cluster_roles(), "", "admin"));
    if (admin) follow_admin(*admin, more);
    objects.insert(objects.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    // Taken back at once, such a role would be made anew by whoever was just filling it in: last, when nothing else is another's.
    const auto sums = std::stable_partition(objects.begin(), objects.end(),
                                            [](const Json& object) { return find(object, {"aggregationRule"}) == nullptr; });
    std::vector<Json> filled_in{std::make_move_iterator(sums), std::make_move_iterator(objects.end())};
    objects.erase(sums, objects.end());
    FLEETADM_CHECK(apply(sides_.member, part, std::move(objects), member_));
    FLEETADM_CHECK(check_ours(member_));
    FLEETADM_CHECK(apply(sides_.member, part, std::move(filled_in), member_));
    return check_ours(member_);
  }

  Status try_token(const std::string& token) const {
    kube::RestConfig config = member_config(checked_.way, sides_.member_config.name, token);
    FLEETADM_CHECK(check_member_token(sides_.connect(config), account_, how_.stop));
    if (account_.acts_as.empty()) return {};
    config.impersonate_user = account_.acts_as;
    return check_rights_of_works(sides_.connect(config));
  }

  /// That its role is filled in, by the member's own controller: from rules of ours, and from those of `admin`, which let it
  /// renew the token.
  Status check_rights_of_works(const kube::Client& as_works) const {
    const std::vector<Json> needed{
        {{"verb", "create"}, {"group", api::applied_manifest_works().group}, {"resource", api::applied_manifest_works().plural}},
        {{"verb", "create"},
         {"group", ""},
         {"resource", "serviceaccounts"},
         {"subresource", "token"},
         {"namespace", account_.ns},
         {"name", account_.name}}};
    const auto has_all = wait_for_rights(as_works, needed, how_.stop);
    if (!has_all) return fail(has_all.error().wrap("the member does not let the hub's account act as the user of works"));
    if (*has_all) return {};
    return fail(Category::kAuth, "the member has not given the user of works its rights",
                "see whether its kube-controller-manager runs, which fills in the ClusterRole open-cluster-management:" +
                    account_.ns + ":works, and whether its ClusterRole admin may create serviceaccounts/token");
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
    objects.push_back(push_secret(wish_.cluster, checked_.identity.cluster_id, kubeconfig, account_.acts_as));
    FLEETADM_CHECK(apply(sides_.hub, std::string(api::kPushPart), std::move(objects), hub_));
    return check_ours(hub_);
  }

  /// The one of the cluster, as the hub's controllers would make it; whatever else is there is theirs to judge.
  Status make_namespace() {
    const kube::Resource& type = r::namespaces();
    FLEETADM_TRY(const auto before, sides_.hub.find(type, "", wish_.cluster));
    if (before) return {};
    FLEETADM_TRY(made_namespace_, sides_.hub.create(type, "", registration::hub::cluster_namespace(wish_.cluster)));
    tell({type.kind, {}, wish_.cluster, Action::kCreated, type.group}, clusters_);
    return {};
  }
  Status drop_namespace() const {
    kube::DeleteOptions how;
    how.uid = uid_of(made_namespace_);
    return sides_.hub.remove(r::namespaces(), "", wish_.cluster, how).map([](const auto&) {});
  }

  Status cluster() {
    const kube::Resource& type = api::managed_clusters();
    Change change{type.kind, {}, wish_.cluster, Action::kUnchanged, type.group};
    FLEETADM_TRY(const auto before, sides_.hub.find(type, "", wish_.cluster));
    if (!before) {
      FLEETADM_CHECK(make_namespace());
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
    tell(std::move(change), clusters_);
    return {};
  }

  const PushSides& sides_;
  const PushChecked& checked_;
  const PushWish& wish_;
  const install::Options& how_;
  Instant now_;
  MemberAccount account_;
  bool dry_;
  FormerPush former_;
  Json made_namespace_;
  std::vector<Change> member_;
  std::vector<Change> hub_;
  std::vector<Change> clusters_;
};

}  // namespace

Status push_join(const PushSides& sides, const PushChecked& checked, const PushWish& wish, const install::Options& how,
                 const Clock& clock, std::vector<Change>& changes, std::vector<std::string>& left) {
  PushRun run(sides, checked, wish, how, clock);
  const Status done = run.run();
  changes = run.all();
  const bool dry = sides.hub.gate().dry_run != kube::DryRun::kNone;
  if (!done && !dry && !how.stop.stop_requested()) left = run.undo();
  return done;
}

}  // namespace fleetadm::join
