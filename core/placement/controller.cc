#include "core/placement/controller.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/api/kinds.h"
#include "core/placement/fleet.h"
#include "core/placement/publish.h"
#include "kubeclient/base/log.h"

namespace fleetadm::placement {
namespace {

constexpr const char* kName = "placement-controller";
constexpr const char* kByPlacement = "placement";
/// Keys that are no placement: changes wait to be taken in, and every placement is due.
constexpr const char* kChanges = "";
constexpr const char* kEverything = "*";
constexpr Duration kResync = std::chrono::minutes(10);

struct Controller {
  Controller(const kube::Client& client, std::shared_ptr<Clock> time)
      : hub(client), clock(std::move(time)), recorder(client, kName, kName, clock) {}

  Result<controller::Outcome> reconcile(const std::string& key, const std::stop_token& stop);
  Result<controller::Outcome> place(const std::string& key, const std::stop_token& stop);
  std::map<std::string, Json> existing_decisions(const std::string& key, const Pass& pass) const;

  kube::Client hub;
  std::shared_ptr<Clock> clock;
  kube::Recorder recorder;
  Fleet fleet;
  std::vector<std::shared_ptr<kube::Informer>> informers;
  std::shared_ptr<kube::Informer> placements;
  std::shared_ptr<kube::Informer> decisions;
  std::shared_ptr<controller::Queue> queue;
};

Result<controller::Outcome> Controller::reconcile(const std::string& key, const std::stop_token& stop) {
  // A world that is known in part would unselect clusters that are merely not listed yet.
  const bool synced = std::all_of(informers.begin(), informers.end(), [](const auto& one) { return one->synced(); });
  if (!synced) return controller::Outcome{std::chrono::milliseconds(100)};
  for (const std::string& affected : fleet.catch_up()) {
    if (affected != key) queue->add(affected);
  }
  if (key == kChanges) return controller::Outcome{};
  if (key == kEverything) {
    for (std::string& one : fleet.placements()) queue->add(std::move(one));
    return controller::Outcome{};
  }
  return place(key, stop);
}

// The decisions that carry the placement's label, and those that have a wanted name whatever their labels say.
std::map<std::string, Json> Controller::existing_decisions(const std::string& key, const Pass& pass) const {
  std::map<std::string, Json> existing;
  for (const kube::CachedPtr& one : decisions->by_index(kByPlacement, key)) {
    Json object = one->decode();
    existing.emplace(name_of(object), std::move(object));
  }
  const std::string ns = kube::split_key(key).ns;
  for (const WantedDecision& wanted : pass.decisions) {
    if (existing.contains(wanted.name)) continue;
    if (const kube::CachedPtr one = decisions->get(kube::object_key(ns, wanted.name)))
      existing.emplace(wanted.name, one->decode());
  }
  return existing;
}

Result<controller::Outcome> Controller::place(const std::string& key, const std::stop_token& stop) {
  const Instant now = clock->now();
  const std::optional<Pass> pass = fleet.run(key, now);
  const kube::CachedPtr cached = placements->get(key);
  if (!pass || !cached || pass->skipped) return controller::Outcome{};
  if (!pass->failure.empty()) {
    // Only a changed set can mend it, and that change comes as an event.
    log::warn(kName, key + ": " + pass->failure);
    return controller::Outcome{};
  }
  const Json placement = cached->decode();
  FLEETADM_CHECK(publish(hub.with_stop(stop), recorder, placement, *pass, existing_decisions(key, *pass), now));
  controller::Outcome outcome;
  const auto at_latest = [&](const std::optional<Instant>& when) {
    if (!when) return;
    const Duration wait = std::max<Duration>(*when - now, Duration::zero()) + std::chrono::milliseconds(1);
    if (!outcome.requeue_after || wait < *outcome.requeue_after) outcome.requeue_after = wait;
  };
  at_latest(pass->requeue_at);
  at_latest(pass->scores_expire_at);
  return outcome;
}

}  // namespace

void add_placement_controller(controller::Manager& manager, const kube::Client& hub, std::shared_ptr<Clock> clock) {
  auto self = std::make_shared<Controller>(hub, std::move(clock));
  self->queue = manager.add({.name = kName, .workers = 2, .resync = kResync, .resync_keys = {kEverything}},
                            [self](const std::string& key, std::stop_token stop) { return self->reconcile(key, stop); });
  kube::InformerOptions by_placement;
  by_placement.indexes.emplace_back(kByPlacement, [](const Json& object) -> std::vector<std::string> {
    const std::string placement = label_of(object, api::kPlacementLabel);
    if (placement.empty()) return {};
    return {kube::object_key(namespace_of(object), placement)};
  });
  self->placements = manager.informer(hub, api::placements());
  self->decisions = manager.informer(hub, api::placement_decisions(), std::move(by_placement));
  const auto watch = [&](Fleet::Kind kind, const std::shared_ptr<kube::Informer>& informer) {
    self->informers.push_back(informer);
    // The informer outlives its handlers' use of the controller: it is stopped before the manager lets go of either.
    informer->on_event([weak = std::weak_ptr<Controller>(self), kind](kube::EventType, const kube::CachedPtr& before,
                                                                      const kube::CachedPtr& after) {
      const auto owner = weak.lock();
      if (!owner) return;
      owner->fleet.note(kind, before, after);
      owner->queue->add(kChanges);
    });
  };
  watch(Fleet::Kind::kPlacement, self->placements);
  watch(Fleet::Kind::kDecision, self->decisions);
  watch(Fleet::Kind::kCluster, manager.informer(hub, api::managed_clusters()));
  watch(Fleet::Kind::kSet, manager.informer(hub, api::managed_cluster_sets()));
  watch(Fleet::Kind::kBinding, manager.informer(hub, api::managed_cluster_set_bindings()));
  watch(Fleet::Kind::kScore, manager.informer(hub, api::addon_placement_scores()));
}

}  // namespace fleetadm::placement
