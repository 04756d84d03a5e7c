#include "core/sandbox/controllers/manager.h"

#include <algorithm>
#include <condition_variable>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

#include "core/sandbox/controllers/owners.h"
#include "core/sandbox/controllers/role_aggregation.h"
#include "core/sandbox/controllers/triggers.h"
#include "kubeclient/base/log.h"

namespace fleetadm::sandbox {
namespace {

constexpr int kPerTask = 64;  // then other clusters get the worker
// The cluster's clock may be set: a wakeup is never longer.
constexpr auto kLongestNap = std::chrono::seconds(5);
constexpr auto kPoolRetry = std::chrono::milliseconds(100);

}  // namespace

struct ControllerManager::Inner : std::enable_shared_from_this<ControllerManager::Inner> {
  Inner(ApiServer& to, pki::KeyPair authority, std::function<bool(std::function<void()>)> how, RunAfter when)
      : server(to),
        ca(std::move(authority)),
        run(std::move(how)),
        later(std::move(when)),
        triggers(server.engine().store(),
                 {.add = [this](ObjectKey key) { queue.insert(std::move(key)); },
                  .add_after = [this](const ObjectKey& key, Duration after) { put_aside_locked(key, after); },
                  .keeps_time = static_cast<bool>(later)}) {}

  ApiServer& server;
  const pki::KeyPair ca;
  std::function<bool(std::function<void()>)> run;
  const RunAfter later;
  mutable std::mutex mutex;  // everything below
  mutable std::condition_variable rested;
  OwnerGraph graph;
  std::set<ObjectKey> queue;    // objects whose own controller is due
  std::set<ObjectKey> garbage;  // objects that the collector is due for
  // Objects to look at again at a time, by the cluster's clock; the same twice.
  std::map<ObjectKey, Instant> due;
  std::set<std::pair<Instant, ObjectKey>> by_time;
  std::chrono::steady_clock::time_point wakes_at = std::chrono::steady_clock::time_point::max();
  std::uint64_t wakeup = 0;  // the one that counts
  Triggers triggers;
  bool scheduled = false;
  bool stopped = false;
  RoleAggregation aggregation;  // of the one worker that is scheduled

  /// The sooner of two times counts: who looks too early asks again.
  void add_after(const ObjectKey& key, Duration after) {
    const std::lock_guard lock(mutex);
    put_aside_locked(key, after);
  }
  void put_aside_locked(const ObjectKey& key, Duration after) {
    if (!later) return;
    const auto at = server.engine().clock().now() + after;
    const auto [known, fresh] = due.emplace(key, at);
    if (!fresh) {
      if (known->second <= at) return;
      by_time.erase(std::pair(known->second, key));
      known->second = at;
    }
    by_time.emplace(at, key);
    sleep_until_due();
  }

  /// Sees to it that wake() is called when the first of them is due. The lock is held.
  void sleep_until_due() {
    if (!later || stopped || by_time.empty()) return;
    const auto wait =
        std::clamp<Duration>(by_time.begin()->first - server.engine().clock().now(), std::chrono::milliseconds(1), kLongestNap);
    const auto until = std::chrono::steady_clock::now() + wait;
    if (wakes_at <= until) return;
    wakes_at = until;
    later(wait, [weak = weak_from_this(), turn = ++wakeup] {
      if (const auto here = weak.lock()) here->wake(turn);
    });
  }

  void wake(std::uint64_t turn) {
    {
      const std::lock_guard lock(mutex);
      if (turn != wakeup) return;  // another one was meant to come sooner
      wakes_at = std::chrono::steady_clock::time_point::max();
      const auto now = server.engine().clock().now();
      while (!stopped && !by_time.empty() && by_time.begin()->first <= now) {
        queue.insert(by_time.begin()->second);
        due.erase(by_time.begin()->second);
        by_time.erase(by_time.begin());
      }
      sleep_until_due();
      if (stopped || scheduled || queue.empty()) return;
      scheduled = true;
    }
    schedule();
  }

  void observe(const Kind& kind, const std::string& ns, const std::string& name, const Json* object) {
    {
      const std::lock_guard lock(mutex);
      if (stopped) return;
      // Two writers of one object may tell of it in the other order: what counts is what the store has by now.
      const auto stored = server.engine().store().get(kind.storage, ns, name);
      if (!stored) {
        note(kind.storage, ns, name, nullptr);
      } else if (object != nullptr && resource_version_of(*object) == std::to_string(stored->revision)) {
        note(kind.storage, ns, name, object);
      } else {
        const Json now = server.engine().full(kind, *stored);
        note(kind.storage, ns, name, &now);
      }
      if (scheduled || (queue.empty() && garbage.empty())) return;
      scheduled = true;
    }
    schedule();
  }

  void schedule() {
    const auto self = shared_from_this();
    if (run([self] { self->work(); })) return;
    const std::lock_guard lock(mutex);  // the pool is full or stopped: the next write or wakeup asks again
    scheduled = false;
    rested.notify_all();
    if (!later || stopped) return;
    later(kPoolRetry, [weak = weak_from_this()] {
      if (const auto here = weak.lock()) here->try_again();
    });
  }

  void try_again() {
    {
      const std::lock_guard lock(mutex);
      if (stopped || scheduled || (queue.empty() && garbage.empty())) return;
      scheduled = true;
    }
    schedule();
  }

  /// Queues what a write concerns. The lock is held.
  void note(const std::string& storage, const std::string& ns, const std::string& name, const Json* object) {
    const ObjectKey key{storage, ns, name};
    auto again = object != nullptr ? graph.written(key, *object) : graph.removed(key);
    garbage.merge(again);
    triggers.written(key, object);
  }

  /// A controller that stumbles over one object must not hold up the others.
  template <class Task>
  static void guarded(const ObjectKey& key, const Task& task) {
    try {
      task();
    } catch (const std::exception& error) {
      log::warn("sandbox", key.storage + " " + key.ns + "/" + key.name + ": " + error.what());
    }
  }

  void work() {
    for (int i = 0; i < kPerTask; ++i) {
      std::unique_lock lock(mutex);
      if (stopped || (queue.empty() && garbage.empty())) {
        scheduled = false;
        rested.notify_all();
        return;
      }
      if (!queue.empty()) {
        // Backwards: a replica set before its deployment, which then reads once what the set has become.
        const auto last = std::prev(queue.end());
        const auto key = *last;
        queue.erase(last);
        lock.unlock();
        guarded(key, [&] { sync(key); });
        continue;
      }
      const auto key = *garbage.begin();
      garbage.erase(garbage.begin());
      lock.unlock();
      guarded(key, [&] { collect(key); });
    }
    schedule();
  }

  ControllerContext context(const ObjectKey& key) {
    return {server.engine(),          ca,          ca.certificate, [this, key](Duration after) { add_after(key, after); },
            &server.pending_writes(), &aggregation};
  }

  void sync(const ObjectKey& key) {
    if (const auto controller = controller_of(key.storage)) controller(context(key), key);
  }

  void collect(const ObjectKey& key) {
    const auto slash = key.storage.rfind('/');
    const auto kind = server.engine().kinds().find_plural(key.storage.substr(0, slash), key.storage.substr(slash + 1));
    if (!kind) return;
    const auto object = server.engine().get(*kind, key.ns, key.name);
    if (!object) return;
    GarbageView view;
    {
      const std::lock_guard lock(mutex);
      view = view_of(graph, key, *object);
    }
    collect_garbage(context(key), *kind, *object, view);
  }
};

ControllerManager::ControllerManager(ApiServer& server, pki::KeyPair ca, std::function<bool(std::function<void()>)> run,
                                     RunAfter later)
    : inner_(std::make_shared<Inner>(server, std::move(ca), std::move(run), std::move(later))) {}

ControllerManager::~ControllerManager() {
  inner_->server.on_write({});
  std::unique_lock lock(inner_->mutex);
  inner_->stopped = true;
  inner_->rested.wait(lock, [this] { return !inner_->scheduled; });
}

void ControllerManager::start() {
  const std::weak_ptr<Inner> weak = inner_;
  inner_->server.on_write([weak](const Kind& kind, const std::string& ns, const std::string& name, const Json* object) {
    if (const auto here = weak.lock()) here->observe(kind, ns, name, object);
  });
  auto& engine = inner_->server.engine();
  std::set<std::string> seen;
  for (const auto& kind : engine.kinds().all()) {
    if (!kind->has_verb("list") || !seen.insert(kind->storage).second) continue;
    const auto list = engine.store().list(kind->storage, "");
    if (!list) continue;
    for (const auto& item : list->items) {
      const Json object = engine.full(*kind, *item.object);
      const std::lock_guard lock(inner_->mutex);
      inner_->note(kind->storage, item.ns, item.name, &object);
    }
  }
  {
    const std::lock_guard lock(inner_->mutex);
    if (inner_->scheduled || (inner_->queue.empty() && inner_->garbage.empty())) return;
    inner_->scheduled = true;
  }
  inner_->schedule();
}

bool ControllerManager::idle() const {
  const std::lock_guard lock(inner_->mutex);
  return !inner_->scheduled && inner_->queue.empty() && inner_->garbage.empty();
}

}  // namespace fleetadm::sandbox
