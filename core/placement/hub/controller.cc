#include "core/placement/hub/controller.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <vector>

#include "core/api/kinds.h"
#include "core/placement/engine/cel_evaluator.h"
#include "core/placement/hub/debug.h"
#include "core/placement/hub/expectations.h"
#include "core/placement/hub/publish.h"
#include "core/placement/hub/scheduler_cache.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/names.h"

namespace fleetadm::placement {
namespace {

constexpr const char* kName = "placement-controller";
constexpr const char* kByPlacement = "placement";
/// Keys that are no placement: changes wait to be taken in, and every placement is due.
constexpr const char* kChanges = "";
constexpr const char* kEverything = "*";
constexpr Duration kResync = std::chrono::minutes(10);
// A pass takes well under a millisecond; the rest of a run waits for the API server's answers.
constexpr int kWorkers = 16;
constexpr Duration kCatchUp = std::chrono::milliseconds(5);

struct Controller {
  Controller(const kube::Client& client, std::shared_ptr<Clock> time)
      : hub(client), clock(std::move(time)), recorder(client, kName, kName, clock) {}

  Result<controller::Outcome> reconcile(const std::string& key, const std::stop_token& stop);
  Result<controller::Outcome> place(const std::string& key, const std::stop_token& stop);
  std::map<std::string, Json> existing_decisions(const std::string& key, const Pass& pass) const;
  bool saw_own_writes(const std::string& key);
  bool saw_all(const SchedulerCache::Run& run, const kube::CachedObject& placement,
               const std::map<std::string, Json>& existing) const;

  kube::Client hub;
  std::shared_ptr<Clock> clock;
  kube::Recorder recorder;
  std::shared_ptr<const CelEvaluator> cel;  // null: predicates that ask CEL say that it is not supported
  SchedulerCache fleet;
  Expectations placement_writes;
  Expectations decision_writes;
  std::vector<std::unique_ptr<std::atomic<bool>>> listed;  // an informer each: its first list was noted to the last object
  std::shared_ptr<kube::Informer> placements;
  std::shared_ptr<kube::Informer> decisions;
  std::shared_ptr<controller::Queue> queue;
};

Result<controller::Outcome> Controller::reconcile(const std::string& key, const std::stop_token& stop) {
  // A world that is known in part would unselect clusters that are merely not listed yet.
  const bool all = std::all_of(listed.begin(), listed.end(), [](const auto& one) { return one->load(); });
  if (!all) return controller::Outcome{std::chrono::milliseconds(100)};
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

// A pass may overwrite only what it was decided from: a decision that has arrived since (our own last write, say) makes its
// clusters decided ones, and a pass that does not know so would move them.
bool Controller::saw_all(const SchedulerCache::Run& run, const kube::CachedObject& placement,
                         const std::map<std::string, Json>& existing) const {
  if (placement.resource_version() != run.placement_version) return false;
  std::size_t own = 0;
  for (const auto& [name, object] : existing) {
    if (label_of(object, api::kPlacementLabel) != kube::split_key(placement.key()).name) continue;
    const auto seen = run.decisions.find(name);
    if (seen == run.decisions.end() || seen->second != resource_version_of(object)) return false;
    ++own;
  }
  return own == run.decisions.size();
}

bool Controller::saw_own_writes(const std::string& key) {
  const std::string ns = kube::split_key(key).ns;
  const auto version_in = [&ns](const kube::Informer& cache) {
    return [&](const std::string& name) {
      const kube::CachedPtr object = cache.get(kube::object_key(ns, name));
      return object ? std::string(object->resource_version()) : std::string();
    };
  };
  const auto now = std::chrono::steady_clock::now();
  const bool decided = decision_writes.seen(key, version_in(*decisions), now);
  return placement_writes.seen(key, version_in(*placements), now) && decided;
}

Result<controller::Outcome> Controller::place(const std::string& key, const std::stop_token& stop) {
  if (!saw_own_writes(key)) return controller::Outcome{kCatchUp};
  const Instant now = clock->now();
  const std::optional<SchedulerCache::Run> run = fleet.run_from(key, now, {.cel = cel.get()});
  const kube::CachedPtr cached = placements->get(key);
  if (!run || !cached) {
    placement_writes.forget(key);
    decision_writes.forget(key);
    return controller::Outcome{};
  }
  if (run->pass.skipped) return controller::Outcome{};
  // Decisions carry the placement's name as a label. Where it cannot be one, there are none, and the conditions say so.
  std::optional<Pass> undecided;
  if (const auto errors = label_value_problems(kube::split_key(key).name); !errors.empty()) {
    undecided = without_decisions(run->pass, errors.front());
  }
  const Pass& pass = undecided ? *undecided : run->pass;
  if (!pass.failure.empty()) {
    // Only a changed set can mend it, and that change comes as an event.
    log::warn(kName, key + ": " + pass.failure);
    return controller::Outcome{};
  }
  const std::map<std::string, Json> existing = existing_decisions(key, pass);
  if (!saw_all(*run, *cached, existing)) return controller::Outcome{kCatchUp};
  fleet.reserve(key, &pass);
  Published published;
  const Status done = publish(hub.with_stop(stop), recorder, cached->decode(), pass, existing, now, published);
  const auto written = std::chrono::steady_clock::now();
  placement_writes.note(key, published.placements, written);
  decision_writes.note(key, published.decisions, written);
  if (!done) {
    fleet.reserve(key, nullptr);
    return tl::unexpected(done.error());
  }
  controller::Outcome outcome;
  const auto at_latest = [&](const std::optional<Instant>& when) {
    if (!when) return;
    const Duration wait = (*when > now ? *when - now : Duration::zero()) + std::chrono::milliseconds(1);
    if (!outcome.requeue_after || wait < *outcome.requeue_after) outcome.requeue_after = wait;
  };
  at_latest(pass.requeue_at);
  at_latest(pass.scores_expire_at);
  return outcome;
}

}  // namespace

void add_placement_controller(controller::Manager& manager, const kube::Client& hub, std::shared_ptr<Clock> clock) {
  auto self = std::make_shared<Controller>(hub, std::move(clock));
  if (auto cel = make_cel_evaluator()) {
    self->cel = std::move(*cel);
  } else {
    log::error(kName, "CEL is not available: " + cel.error().message);
  }
  self->queue = manager.add({.name = kName, .workers = kWorkers, .resync = kResync, .resync_keys = {kEverything}},
                            [self](const std::string& key, std::stop_token stop) { return self->reconcile(key, stop); });
  kube::InformerOptions by_placement;
  by_placement.indexes.emplace_back(kByPlacement, [](const Json& object) -> std::vector<std::string> {
    const std::string placement = label_of(object, api::kPlacementLabel);
    if (placement.empty()) return {};
    return {kube::object_key(namespace_of(object), placement)};
  });
  self->placements = manager.informer(hub, api::placements());
  self->decisions = manager.informer(hub, api::placement_decisions(), std::move(by_placement));
  const auto watch = [&](SchedulerCache::Kind kind, const std::shared_ptr<kube::Informer>& informer) {
    std::atomic<bool>* listed = self->listed.emplace_back(std::make_unique<std::atomic<bool>>(false)).get();
    informer->on_synced([weak = std::weak_ptr<Controller>(self), listed] {
      if (const auto owner = weak.lock(); owner && !listed->exchange(true)) owner->queue->add(kChanges);
    });
    // The informer outlives its handlers' use of the controller: it is stopped before the manager lets go of either.
    informer->on_event([weak = std::weak_ptr<Controller>(self), kind](kube::EventType, const kube::CachedPtr& before,
                                                                      const kube::CachedPtr& after) {
      const auto owner = weak.lock();
      if (!owner) return;
      owner->fleet.note(kind, before, after);
      owner->queue->add(kChanges);
    });
  };
  watch(SchedulerCache::Kind::kPlacement, self->placements);
  watch(SchedulerCache::Kind::kDecision, self->decisions);
  watch(SchedulerCache::Kind::kCluster, manager.informer(hub, api::managed_clusters()));
  watch(SchedulerCache::Kind::kSet, manager.informer(hub, api::managed_cluster_sets()));
  watch(SchedulerCache::Kind::kBinding, manager.informer(hub, api::managed_cluster_set_bindings()));
  watch(SchedulerCache::Kind::kScore, manager.informer(hub, api::addon_placement_scores()));
  manager.add_page(std::string(kDebugPrefix), [weak = std::weak_ptr<Controller>(self)](std::string_view path) {
    const auto owner = weak.lock();
    if (!owner) return controller::Manager::Page{503, "application/json", R"({"error":"shutting down"})"};
    return debug_page(
        path, owner->fleet,
        [&](const std::string& key) -> std::optional<Json> {
          const kube::CachedPtr stored = owner->placements->get(key);
          if (!stored) return std::nullopt;
          return stored->decode();
        },
        owner->clock->now(), owner->cel.get());
  });
}

}  // namespace fleetadm::placement
