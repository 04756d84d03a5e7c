#include "commands/rollout/view.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "commands/framework/named.h"
#include "commands/framework/targets.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"
#include "kubeclient/base/names.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {
namespace {

using work::Phase;

Result<std::vector<Json>> items_of(const kube::Client& hub, const kube::Resource& resource, const std::string& ns,
                                   std::string selector) {
  kube::ListOptions which;
  which.label_selector = std::move(selector);
  FLEETADM_TRY(const Json list, hub.list(resource, ns, which));
  const Json& items = list_at(list, {"items"});
  return std::vector<Json>(items.begin(), items.end());
}

Result<std::vector<Json>> revision_objects(const kube::Client& hub, const Json& set) {
  return items_of(hub, work::controller_revisions(), namespace_of(set), std::string(work::kRevisionOfLabel) + "=" + name_of(set));
}

/// Progressing and Degraded are good when they are False.
bool good(const std::string& condition, const std::string& status) {
  const bool inverse = condition == work::kConditionProgressing || condition == work::kConditionDegraded;
  return status == (inverse ? "False" : "True");
}

}  // namespace

Result<RolloutName> rollout_name(Context& context, const std::string& text) {
  if (const std::size_t slash = text.find('/'); slash != std::string::npos) {
    RolloutName name{text.substr(0, slash), text.substr(slash + 1)};
    if (is_dns_label(name.ns) && is_dns_subdomain(name.name)) return name;
    return fail(Category::kUsage, "\"" + text + "\" is not a valid rollout name", "use NAME, or NAMESPACE/NAME");
  }
  if (!is_dns_subdomain(text)) {
    return fail(Category::kUsage, "\"" + text + "\" is not a valid rollout name", "use NAME, or NAMESPACE/NAME");
  }
  FLEETADM_TRY(std::string ns, context.ns());
  return RolloutName{std::move(ns), text};
}

Result<Json> read_set(const kube::Client& hub, const RolloutName& name) {
  Result<std::optional<Json>> set = hub.find(api::manifest_work_replica_sets(), name.ns, name.name);
  if (!set) return tl::unexpected(on_hub(set.error()));
  if (*set) return std::move(**set);
  return fail(
      Category::kNotFound, "there is no ManifestWorkReplicaSet " + name.ns + "/" + name.name,
      NearNames(hub, api::manifest_work_replica_sets(), name.ns)
          .hint(name.name,
                "create one with: fleetadm work create NAME -f FILE --placement PLACEMENT; select the namespace with -n"));
}

Result<std::vector<work::Revision>> read_revisions(const kube::Client& hub, const Json& set) {
  FLEETADM_TRY(const std::vector<Json> objects, revision_objects(hub, set));
  return work::revisions_of(set, objects);
}

Result<RolloutView> read_rollout(const kube::Client& hub, const RolloutName& name, Instant now) {
  FLEETADM_TRY(Json set, read_set(hub, name));
  return view_rollout(hub, std::move(set), now);
}

Result<RolloutView> view_rollout(const kube::Client& hub, Json set, Instant now) {
  RolloutObjects objects;
  const std::string ns = namespace_of(set);
  for (const Json& entry : list_at(set, {"spec", "placementRefs"})) {
    const std::string placement = str(entry, {"name"});
    FLEETADM_TRY(std::optional<Json> object, hub.find(api::placements(), ns, placement));
    if (object) objects.placements.push_back(std::move(*object));
    const std::string selector = std::string(api::kPlacementLabel) + "=" + placement;
    FLEETADM_TRY(std::vector<Json> decisions, items_of(hub, api::placement_decisions(), ns, selector));
    std::move(decisions.begin(), decisions.end(), std::back_inserter(objects.decisions));
  }
  FLEETADM_TRY(objects.revisions, revision_objects(hub, set));
  kube::ListOptions which;
  which.label_selector = std::string(work::kReplicaSetLabel) + "=" + work::owner_label_of(set);
  FLEETADM_CHECK(hub.list_each(api::manifest_works(), {}, which, [&](Json&& work) -> Status {
    project_rollout_work(work);
    objects.works.push_back(std::move(work));
    return {};
  }));
  objects.set = std::move(set);
  return view_of(std::move(objects), now);
}

void project_rollout_work(Json& work) {
  Json status = object_at(work, {"status"});
  work::project_work(work);
  work["status"] = std::move(status);
}

RolloutView view_of(RolloutObjects objects, Instant now) {
  RolloutView view;
  view.set = std::move(objects.set);
  for (const Json& entry : list_at(view.set, {"spec", "placementRefs"})) {
    const std::string placement = str(entry, {"name"});
    const auto object = std::find_if(objects.placements.begin(), objects.placements.end(),
                                     [&](const Json& one) { return name_of(one) == placement; });
    std::vector<Json> decisions;
    for (const Json& one : objects.decisions) {
      if (label_of(one, api::kPlacementLabel) == placement) decisions.push_back(one);
    }
    work::PlacementView& known = view.placements[placement];
    known = work::view_placement(object == objects.placements.end() ? nullptr : &*object, decisions);
    known.at_rest = work::hub_follows_decisions(view.set);
  }
  view.revisions = work::revisions_of(view.set, objects.revisions);
  const std::string hash = work::work_spec_hash(object_at(view.set, {"spec", "manifestWorkTemplate"}));
  if (!view.revisions.empty() && view.revisions.back().hash == hash) view.revision = view.revisions.back();
  for (Json& object : objects.works) {
    work::OwnedWork one = work::decode_work(object);
    if (one.spec_hash == hash) view.live[one.ns] = std::move(object);
    view.works.push_back(std::move(one));
  }
  view.plan = work::plan_replica_set(view.set, view.placements, view.works, view.revision, now);
  return view;
}

RolloutState state_of(const work::ReplicaSetPlan& plan) {
  if (!plan.missing_placement.empty() || !plan.error().empty()) return RolloutState::kFailed;
  if (plan.rolled_out) return RolloutState::kDone;
  if (plan.paused) return RolloutState::kPaused;
  if (plan.aborted) return RolloutState::kAborted;
  if (plan.breach()) return plan.count(Phase::kFailed) == 0 ? RolloutState::kTimedOut : RolloutState::kFailed;
  if (plan.over && plan.failures) return RolloutState::kPartial;
  return RolloutState::kRunning;
}

std::string_view to_string(RolloutState state) {
  switch (state) {
    case RolloutState::kDone: return "Complete";
    case RolloutState::kRunning: return "Progressing";
    case RolloutState::kFailed: return "Failed";
    case RolloutState::kPartial: return "Partial";
    case RolloutState::kTimedOut: return "TimedOut";
    case RolloutState::kPaused: return "Paused";
    case RolloutState::kAborted: return "Aborted";
  }
  return "Progressing";
}

int exit_code_of(RolloutState state) {
  switch (state) {
    case RolloutState::kDone: return 0;
    case RolloutState::kFailed:
    case RolloutState::kAborted: return 1;
    case RolloutState::kPartial: return 3;
    case RolloutState::kTimedOut: return 6;
    case RolloutState::kPaused: return 7;
    case RolloutState::kRunning: return 8;
  }
  return 1;
}

std::string blocking_manifest(const Json& object, const std::string& condition) {
  const std::int64_t generation = num(object, {"metadata", "generation"});
  const Json* of_work = work::condition_in(list_at(object, {"status", "conditions"}), condition);
  if (of_work == nullptr || num(*of_work, {"observedGeneration"}) != generation) return {};
  for (const Json& manifest : list_at(object, {"status", "resourceStatus", "manifests"})) {
    const Json* own = work::condition_in(list_at(manifest, {"conditions"}), condition);
    if (own == nullptr || good(condition, str(*own, {"status"}))) continue;
    std::string name = str(manifest, {"resourceMeta", "name"});
    if (const std::string ns = str(manifest, {"resourceMeta", "namespace"}); !ns.empty()) name.insert(0, ns + "/");
    const std::string message = str(*own, {"message"});
    return str(manifest, {"resourceMeta", "kind"}) + " " + name + (message.empty() ? "" : ": " + message);
  }
  return {};
}

const work::ClusterProgress* blocking_cluster(const work::ReplicaSetPlan& plan) {
  for (const Phase phase : {Phase::kFailed, Phase::kTimedOut, Phase::kUnderWay, Phase::kSoaking}) {
    const work::ClusterProgress* longest = nullptr;
    for (const work::ClusterProgress& one : plan.clusters) {
      if (one.phase != phase) continue;
      if (longest == nullptr || one.since.value_or(Instant::max()) < longest->since.value_or(Instant::max())) longest = &one;
    }
    if (longest != nullptr) return longest;
  }
  return nullptr;
}

Status wait_for_reason(Context& context, const kube::Client& hub, const RolloutName& name, std::string_view reason, bool negated,
                       Duration timeout) {
  const auto said = [&](const std::optional<Json>& set) -> Result<bool> {
    if (!set) return fail(Category::kNotFound, "ManifestWorkReplicaSet " + name.ns + "/" + name.name + " was deleted");
    const Json* condition = controller::find_condition(*set, work::kRolloutCondition);
    return condition != nullptr && (str(*condition, {"reason"}) == reason) != negated;
  };
  const auto done = kube::wait_for(hub, api::manifest_work_replica_sets(), name.ns, name.name, said, timeout, context.stop());
  if (done) return {};
  if (done.error().category != Category::kTimeout) return tl::unexpected(done.error());
  return fail(Category::kTimeout, "the change was requested but not confirmed by the hub within " + format_duration(timeout),
              "check that fleetadm's hub controllers are running; upstream's controllers do not support pause "
              "and abort");
}

}  // namespace fleetadm::commands
