#include "core/addon/hub/standing_controller.h"

#include <set>
#include <utility>

#include "core/addon/rules/cluster_standing.h"
#include "core/api/kinds.h"

namespace fleetadm::addon {
namespace {

// The add-ons of a cluster report at about the same time: the cluster is written once for all of them.
constexpr Duration kGatherReports = std::chrono::seconds(1);
constexpr Duration kPeace = std::chrono::minutes(10);

}  // namespace

void StandingController::keep_peace(const std::string& cluster, Pass& pass) {
  const ObjectPtr now_known = addons_.objects->get(managed_clusters(), {}, cluster);
  const Instant now = addons_.clock->now();
  const std::lock_guard lock(mutex_);
  if (!now_known || !controller::condition_is(*now_known, api::kConditionAvailable, "Unknown")) {
    told_.erase(cluster);
    return;
  }
  std::set<std::string> contradicted;
  for (const Json& object : pass.changed) {
    if (!namespace_of(object).empty()) contradicted.insert(name_of(object));
  }
  auto& told = told_[cluster];
  std::erase_if(told, [&](const auto& one) { return now - one.second >= kPeace; });
  for (const ObjectPtr& addon : addons_.objects->list(managed_cluster_addons(), cluster)) {
    if (!contradicted.contains(name_of(*addon))) told.try_emplace(name_of(*addon), now);
  }
  const auto left = std::erase_if(
      pass.changed, [&](const Json& object) { return !namespace_of(object).empty() && told.contains(name_of(object)); });
  if (left > 0) pass.requeue_after = kPeace;
}

Result<controller::Outcome> StandingController::reconcile(const std::string& key, const std::stop_token& stop) {
  Pass pass = cluster_standing(*addons_.objects, key, addons_.clock->now());
  keep_peace(key, pass);
  return addons_.writer->carry_out(*addons_.objects, pass, stop);
}

void add_standing_controller(controller::Manager& manager, const AddonHub& addons) {
  const auto standing = std::make_shared<StandingController>(addons);
  controller::ControllerOptions options;
  options.name = "addon-standing";
  options.workers = 4;
  const auto queue = manager.add(std::move(options), [standing](const std::string& cluster, const std::stop_token& stop) {
    return standing->reconcile(cluster, stop);
  });
  addons.objects->informer(managed_clusters())->on_event([queue](kube::EventType, const auto& before, const auto& after) {
    queue->add_after((after ? after : before)->key(), kGatherReports);
  });
  addons.objects->informer(managed_cluster_addons())->on_event([queue](kube::EventType, const auto& before, const auto& after) {
    queue->add_after(kube::split_key((after ? after : before)->key()).ns, kGatherReports);
  });
}

}  // namespace fleetadm::addon
