#include "core/addon/plan/rollout_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/addon/rules/configuration.h"
#include "core/addon/rules/installation.h"
#include "core/controller/controller.h"

namespace fleetadm::addon {
namespace {

constexpr std::size_t kMostPasses = 20000;

DesiredConfigs desired_of(const Json& addon) {
  DesiredConfigs configs;
  for (const Json& reference : list_at(addon, {"status", "configReferences"})) {
    if (std::optional<DesiredConfig> config = config_of(reference)) configs[config->key.type].push_back(std::move(*config));
  }
  return configs;
}

class RolloutCourse {
 public:
  RolloutCourse(MemoryObjects objects, std::string addon, const KnownTypes& known, Instant now, Course course)
      : objects_(std::move(objects)), addon_(std::move(addon)), known_(known), begun_(now), now_(now), course_(course) {}

  Result<AddonRolloutPlan> run();

 private:
  void install();
  Result<bool> pass();
  bool succeed();
  void forget_strategies();

  MemoryObjects objects_;
  const std::string addon_;
  const KnownTypes& known_;
  const Instant begun_;
  Instant now_;
  const Course course_;
  std::optional<Duration> soak_;
  std::size_t step_ = 0;
  std::map<std::string, ClusterStanding> standing_;
  std::set<std::string> planned_;
  AddonRolloutPlan plan_;
};

/// Add-ons where placements select a cluster and the hub has not written them yet.
void RolloutCourse::install() {
  const Pass pass = install_addon(objects_, addon_, rollout::Semantics::kStrict);
  for (const Json& one : pass.changed) objects_.put(one);
  for (const ObjectRef& gone : pass.deleted) objects_.remove(gone.type, gone.ns, gone.name);
}

/// One pass of the hub's rules; whether some cluster began.
Result<bool> RolloutCourse::pass() {
  Pass pass = pass_of(roll_out_addon(objects_, addon_, known_, now_), objects_, addon_, now_, rollout::Semantics::kStrict);
  if (!pass.errors.empty()) return tl::unexpected(pass.errors.front());
  soak_ = pass.requeue_after;
  std::vector<std::string> begun;
  for (Json& one : pass.changed) {
    const std::string cluster = namespace_of(one);
    const ObjectPtr before = objects_.get(type_of(one), cluster, name_of(one));
    if (!cluster.empty() && before && desired_of(*before) != desired_of(one)) begun.push_back(cluster);
    objects_.put(std::move(one));
  }
  if (begun.empty()) return false;
  ++step_;
  for (const std::string& cluster : begun) {
    if (!planned_.insert(cluster).second) continue;
    PlannedCluster one{cluster, {}, std::nullopt, step_, now_ - begun_};
    if (const auto at = standing_.find(cluster); at != standing_.end()) {
      one.placement = at->second.placement;
      one.group = at->second.group;
    }
    plan_.clusters.push_back(std::move(one));
  }
  return true;
}

/// Every agent brings about what is desired of it; whether one had anything to do.
bool RolloutCourse::succeed() {
  bool any = false;
  for (const ObjectPtr& before : objects_.addons_named(addon_)) {
    Json after = *before;
    if (list_at(after, {"status", "configReferences"}).empty()) continue;
    for (Json& reference : after["status"]["configReferences"]) {
      if (const Json* desired = find(reference, {"desiredConfig"})) reference["lastAppliedConfig"] = Json(*desired);
    }
    if (after == *before) continue;
    controller::set_condition(after["status"]["conditions"], "Progressing", "False", "Completed", "completed with no errors.",
                              now_);
    objects_.put(std::move(after));
    any = true;
  }
  return any;
}

/// All that are left begin in the next step.
void RolloutCourse::forget_strategies() {
  Json declaration = *objects_.get(cluster_management_addons(), {}, addon_);
  if (list_at(declaration, {"spec", "installStrategy", "placements"}).empty()) return;
  for (Json& placement : declaration["spec"]["installStrategy"]["placements"]) placement["rolloutStrategy"] = {{"type", "All"}};
  objects_.put(std::move(declaration));
}

Result<AddonRolloutPlan> RolloutCourse::run() {
  Json declaration = *objects_.get(cluster_management_addons(), {}, addon_);
  erase_at(declaration, {"metadata", "annotations", work::kPausedAnnotation});
  objects_.put(std::move(declaration));
  install();
  FLEETADM_TRY(const RolloutStanding before, rollout_standing(objects_, addon_, known_, now_));
  plan_.missing = before.missing;
  for (const ClusterStanding& one : before.clusters) standing_.emplace(one.cluster, one);
  for (std::size_t i = 0; i < kMostPasses; ++i) {
    FLEETADM_TRY(const bool begun, pass());
    if (begun && step_ == 1 && course_ == Course::kFirstStep) forget_strategies();
    if (succeed() || begun) continue;
    if (!soak_) break;
    now_ += *soak_;
  }
  FLEETADM_TRY(const RolloutStanding after, rollout_standing(objects_, addon_, known_, now_));
  for (const ClusterStanding& one : after.clusters) {
    if (planned_.contains(one.cluster)) continue;
    if (one.phase == work::Phase::kDone) {
      ++plan_.unchanged;
    } else if (one.phase != work::Phase::kSkipped) {
      plan_.waiting.push_back(one.cluster);
    }
  }
  plan_.outcome = std::move(objects_);
  return std::move(plan_);
}

}  // namespace

std::size_t AddonRolloutPlan::at_once() const {
  return static_cast<std::size_t>(
      std::count_if(clusters.begin(), clusters.end(), [](const PlannedCluster& one) { return one.step == 1; }));
}

Result<AddonRolloutPlan> plan_addon_rollout(MemoryObjects objects, const std::string& addon, const KnownTypes& known, Instant now,
                                            Course course) {
  if (objects.get(cluster_management_addons(), {}, addon) == nullptr)
    return fail(Category::kNotFound, "there is no add-on \"" + addon + "\"");
  return RolloutCourse(std::move(objects), addon, known, now, course).run();
}

}  // namespace fleetadm::addon
