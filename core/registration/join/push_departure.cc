#include "core/registration/join/push_departure.h"

#include <algorithm>
#include <utility>

#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/install/wait_deleted.h"
#include "core/registration/join/applied_works.h"
#include "core/registration/join/karmada_names.h"
#include "core/registration/join/member_token.h"
#include "core/registration/join/push_names.h"
#include "core/registration/join/push_objects.h"
#include "core/registration/join/remove_object.h"
#include "core/work/rules/names.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;
using install::Action;
using install::Change;

bool is_dry_run(const kube::Client& client) { return client.gate().dry_run != kube::DryRun::kNone; }

Status take_away(const kube::Client& client, const kube::Resource& type, const Json& object, const DepartureOptions& options,
                 std::vector<Change>& changes) {
  FLEETADM_CHECK(remove_object(client, type, object, changes));
  if (options.told) options.told(type.kind + " " + name_of(object));
  return {};
}

/// Those that this hub's works have left, which nobody looks after any more.
Status remove_applied(const kube::Client& member, const std::string& hub_id, const DepartureOptions& options,
                      std::vector<Change>& changes) {
  const auto applied = member.list(api::applied_manifest_works(), "");
  if (!applied && applied.error().category == Category::kNotFound) return {};
  if (!applied) return fail(applied.error());
  const std::string hash = work::hub_hash(api::push_hub_name(hub_id));
  for (const Json& one : list_at(*applied, {"items"})) {
    if (str(one, {"spec", "hubHash"}) != hash) continue;
    FLEETADM_CHECK(remove_applied_work(member, one, options));
    const kube::Resource& type = api::applied_manifest_works();
    changes.push_back({type.kind, "", name_of(one), Action::kDeleted, type.group});
    if (options.told) options.told(type.kind + " " + name_of(one));
  }
  return {};
}

/// Whether anything else of fleetadm, or any work, is on the member.
Result<bool> types_in_use(const kube::Client& member, const std::string& hub_id) {
  const auto applied = member.list(api::applied_manifest_works(), "");
  if (!applied && applied.error().category != Category::kNotFound) return fail(applied.error());
  if (applied && !list_at(*applied, {"items"}).empty()) return true;
  kube::ListOptions parts;
  parts.label_selector = std::string(install::kPartLabel);
  FLEETADM_TRY(const Json namespaces, member.list(r::namespaces(), "", parts));
  const std::string part = api::push_part_on_member(hub_id);
  for (const Json& ns : list_at(namespaces, {"items"})) {
    if (label_of(ns, install::kPartLabel) != part) return true;
  }
  FLEETADM_TRY(const auto hubs, pushed_by(member));
  return std::any_of(hubs.begin(), hubs.end(), [&](const std::string& hub) { return hub != hub_id; });
}

Status remove_types(const kube::Client& member, const std::string& hub_id, const DepartureOptions& options,
                    std::vector<Change>& changes) {
  const std::string part = api::push_part_on_member(hub_id);
  FLEETADM_TRY(const auto types, push_types());
  for (const Json& wanted : types) {
    FLEETADM_TRY(const auto type, member.find(r::custom_resource_definitions(), "", name_of(wanted)));
    if (!type || label_of(*type, install::kPartLabel) != part) continue;
    FLEETADM_TRY(const bool used, types_in_use(member, hub_id));
    if (!used) FLEETADM_CHECK(take_away(member, r::custom_resource_definitions(), *type, options, changes));
  }
  return {};
}

/// The server's aggregation would make such a role anew, as nobody's, when it sees one go that it sums up. It keeps its rules, so
/// that what is interrupted after it can be finished.
Status end_aggregation(const kube::Client& member, const Json& ns, std::vector<Change>& changes) {
  const kube::Resource& type = r::cluster_roles();
  for (const char* sum :
       {":works", ":work:aggregate"}) {  // the latter of a member that joined before there was one user of works
    const std::string name = "open-cluster-management:" + name_of(ns) + sum;
    FLEETADM_TRY(const auto role, member.find(type, "", name));
    if (!role || label_of(*role, install::kPartLabel) != label_of(ns, install::kPartLabel)) continue;
    if (find(*role, {"aggregationRule"}) == nullptr) continue;
    const Json patch{{"metadata", {{"uid", uid_of(*role)}}}, {"aggregationRule", nullptr}};
    FLEETADM_CHECK(member.patch(type, "", name, kube::PatchType::kMerge, patch).map([](const Json&) {}));
    changes.push_back({type.kind, "", name, Action::kConfigured, type.group});
  }
  return {};
}

}  // namespace

Result<std::optional<PushMemberSide>> push_member_side(const kube::Client& hub, const std::string& cluster,
                                                       const std::function<kube::Client(const kube::RestConfig&)>& connect) {
  FLEETADM_TRY(const auto stored, push_credential(hub, cluster));
  if (!stored) return std::nullopt;
  FLEETADM_TRY(const MemberAccess access, member_access(stored->kubeconfig));
  const auto account = push_account_of(access.credentials.token, cluster, stored->works_as);
  if (!account) return std::nullopt;
  kube::RestConfig as_worker = access.config;
  as_worker.impersonate_user = account->acts_as;
  return PushMemberSide{connect(access.config), connect(as_worker)};
}

Result<api::MemberNames> stored_names(const kube::Client& hub, const std::string& cluster) {
  FLEETADM_TRY(const auto stored, push_credential(hub, cluster));
  if (!stored) return api::MemberNames::kOwn;
  const auto access = member_access(stored->kubeconfig);
  const auto account = access ? push_account_of(access->credentials.token, cluster, stored->works_as) : std::nullopt;
  return account && account->acts_as.empty() ? api::MemberNames::kKarmada : api::MemberNames::kOwn;
}

Result<bool> works_were_let_go(const kube::Client& hub, const std::string& cluster) {
  FLEETADM_TRY(const auto secret, hub.find(r::secrets(), api::kPushNamespace, cluster));
  return secret && label_of(*secret, api::kPushMemberLabel) == cluster && !annotation_of(*secret, api::kWorksLetGo).empty();
}

Status let_works_go(const kube::Client& hub, const DepartureOptions& options) {
  const std::string& cluster = options.cluster_name;
  FLEETADM_TRY(const auto secret, hub.find(r::secrets(), api::kPushNamespace, cluster));
  if (!secret || label_of(*secret, api::kPushMemberLabel) != cluster || is_dry_run(hub)) return {};
  const auto annotate = [&](std::string_view value) {
    return hub.modify(r::secrets(), api::kPushNamespace, cluster, [&](Json& object) -> Status {
      if (uid_of(object) != uid_of(*secret)) return fail(Category::kConflict, "the Secret was made anew meanwhile");
      Json& annotations = at_or_make(object, {"metadata", "annotations"});
      if (value.empty()) {
        annotations.erase(std::string(api::kWorksLetGo));
      } else if (annotation_of(object, api::kWorksLetGo).empty()) {
        annotations[std::string(api::kWorksLetGo)] = std::string(value);
      }
      return {};
    });
  };
  FLEETADM_TRY([[maybe_unused]] const Json asked, annotate(api::kLetGoAsked));
  const auto done = [](const std::optional<Json>& now) -> Result<bool> {
    return !now || annotation_of(*now, api::kWorksLetGo) == api::kLetGoDone;
  };
  const auto waited = kube::wait_for(hub, r::secrets(), api::kPushNamespace, cluster, done, options.timeout, options.stop);
  if (waited) return {};
  (void)annotate({});
  return fail(waited.error()
                  .wrap("the hub has not ended its works on the cluster")
                  .with_hint("see whether the hub controllers run with --push (namespace " + std::string(api::kHubNamespace) +
                             "): fleetadm doctor"));
}

Result<std::vector<Change>> release_push_works(const PushMemberSide& member, const std::string& hub_id,
                                               const DepartureOptions& options) {
  std::vector<Change> changes;
  FLEETADM_TRY(const auto root, find_push_root(member.own, hub_id, options.cluster_name));
  if (!root || is_deleting(root->object)) return changes;
  FLEETADM_CHECK(remove_applied(member.works, hub_id, options, changes));
  return changes;
}

Result<std::vector<Change>> leave_push_member(const PushMemberSide& member, const std::string& hub_id,
                                              const DepartureOptions& options) {
  std::vector<Change> changes;
  FLEETADM_TRY(const auto root, find_push_root(member.own, hub_id, options.cluster_name));
  if (!root || is_deleting(root->object)) return changes;
  FLEETADM_CHECK(remove_applied(member.works, hub_id, options, changes));
  FLEETADM_CHECK(remove_types(member.works, hub_id, options, changes));
  if (root->names == api::MemberNames::kKarmada) {
    FLEETADM_TRY(auto shared, leave_karmada_namespace(member.own, api::push_part_on_member(hub_id)));
    for (Change& change : shared) {
      if (options.told) options.told(change.kind + " " + change.name);
      changes.push_back(std::move(change));
    }
  } else {
    FLEETADM_CHECK(end_aggregation(member.works, root->object, changes));
  }
  // Last: with it the rights go.
  FLEETADM_CHECK(take_away(member.own, root->type, root->object, options, changes));
  return changes;
}

Result<std::vector<Change>> drop_push_credential(const kube::Client& hub, const DepartureOptions& options) {
  std::vector<Change> changes;
  FLEETADM_TRY(const auto secret, hub.find(r::secrets(), api::kPushNamespace, options.cluster_name));
  if (!secret || label_of(*secret, api::kPushMemberLabel) != options.cluster_name) return changes;
  FLEETADM_CHECK(take_away(hub, r::secrets(), *secret, options, changes));
  return changes;
}

}  // namespace fleetadm::join
