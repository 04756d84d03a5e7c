#include "core/sandbox/controllers/manager.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include "core/sandbox/controllers/owners.h"
#include "kubeclient/base/log.h"

namespace fleetadm::sandbox {
namespace {

constexpr int kPerTask = 64;  // then other clusters get the worker
// The cluster's clock may be set: a wakeup is never longer.
constexpr auto kLongestNap = std::chrono::seconds(5);
constexpr auto kPoolRetry = std::chrono::milliseconds(100);

const char* const kNamespaces = "/namespaces";
const char* const kDefinitions = "apiextensions.k8s.io/customresourcedefinitions";
const char* const kRequests = "certificates.k8s.io/certificatesigningrequests";
const char* const kClusterRoles = "rbac.authorization.k8s.io/clusterroles";
const char* const kDeployments = "apps/deployments";
const char* const kReplicaSets = "apps/replicasets";
const char* const kJobs = "batch/jobs";
const char* const kCronJobs = "batch/cronjobs";
const char* const kPods = "/pods";
const char* const kControllers = "/replicationcontrollers";
const char* const kDaemonSets = "apps/daemonsets";
const char* const kStatefulSets = "apps/statefulsets";
const char* const kRevisions = "apps/controllerrevisions";
const char* const kBudgets = "policy/poddisruptionbudgets";
const char* const kNodes = "/nodes";
const char* const kServices = "/services";
const char* const kEndpoints = "/endpoints";
const char* const kEvents = "/events";
const char* const kSlices = "discovery.k8s.io/endpointslices";
const char* const kQuotas = "/resourcequotas";
constexpr auto kQuotaReview = std::chrono::seconds(30);  // of one whose status was written, by admission as a rule

}  // namespace

struct ControllerManager::Inner : std::enable_shared_from_this<ControllerManager::Inner> {
  Inner(ApiServer& to, pki::KeyPair authority, std::function<bool(std::function<void()>)> how, RunAfter when)
      : server(to), ca(std::move(authority)), run(std::move(how)), later(std::move(when)) {}

  ApiServer& server;
  const pki::KeyPair ca;
  std::function<bool(std::function<void()>)> run;
  const RunAfter later;
  mutable std::mutex mutex;  // everything below
  mutable std::condition_variable rested;
  OwnerGraph graph;
  std::set<ObjectKey> queue;                        // objects whose own controller is due
  std::set<ObjectKey> garbage;                      // objects that the collector is due for
  std::set<std::string> ending;                     // namespaces that are being deleted
  std::map<std::string, std::string> ending_kinds;  // storage of custom resources whose definition is being deleted → its name
  // Objects to look at again at a time, by the cluster's clock; the same twice.
  std::map<ObjectKey, Instant> due;
  std::set<std::pair<Instant, ObjectKey>> by_time;
  std::chrono::steady_clock::time_point wakes_at = std::chrono::steady_clock::time_point::max();
  std::uint64_t wakeup = 0;  // the one that counts
  bool scheduled = false;
  bool stopped = false;

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

  /// Which controllers a write concerns. The lock is held.
  void note(const std::string& storage, const std::string& ns, const std::string& name, const Json* object) {
    const ObjectKey key{storage, ns, name};
    auto again = object != nullptr ? graph.written(key, *object) : graph.removed(key);
    garbage.merge(again);
    if (object == nullptr) {
      if (ending.contains(ns)) queue.insert({kNamespaces, "", ns});
      if (const auto at = ending_kinds.find(storage); at != ending_kinds.end()) queue.insert({kDefinitions, "", at->second});
    }
    if (!ns.empty() && storage != kQuotas) queue_all(kQuotas, ns);
    if (storage == kNamespaces) {
      if (object != nullptr && is_deleting(*object)) {
        ending.insert(name);
      } else {
        ending.erase(name);
      }
      queue.insert(key);
    } else if (storage == kDefinitions) {
      if (object != nullptr && is_deleting(*object))
        ending_kinds[str(*object, {"spec", "group"}) + "/" + str(*object, {"spec", "names", "plural"})] = name;
      queue.insert(key);
    } else if ((storage == "/serviceaccounts" && name == "default") || (storage == "/configmaps" && name == "kube-root-ca.crt")) {
      queue.insert({kNamespaces, "", ns});
    } else if (storage == kQuotas) {
      note_quota(key, object);
    } else if (storage == kClusterRoles) {
      queue.insert({kClusterRoles, "", ""});
    } else if (storage == kRequests || storage == kDeployments || storage == kControllers || storage == kDaemonSets ||
               storage == kStatefulSets || storage == kBudgets || storage == kCronJobs || storage == kServices) {
      queue.insert(key);
    } else if (storage == kEvents) {
      if (object != nullptr && later) queue.insert(key);
    } else if (storage == kEndpoints) {
      queue_service(ns, name);
    } else if (storage == kSlices) {
      if (object == nullptr) {
        queue_all(kServices, ns);
      } else {
        queue_service(ns, label_of(*object, "kubernetes.io/service-name"));
      }
    } else if (storage == kJobs) {
      queue.insert(key);
      if (object == nullptr) {
        queue_all(kCronJobs, ns);
      } else {
        note_owner(ns, object, "CronJob", kCronJobs);
      }
    } else if (storage == kReplicaSets) {
      queue.insert(key);
      note_all(ns, object, {{"Deployment", kDeployments}});
    } else if (storage == kRevisions) {
      note_all(ns, object, {{"DaemonSet", kDaemonSets}, {"StatefulSet", kStatefulSets}});
    } else if (storage == kNodes) {
      queue_all(kDaemonSets, "");
    } else if (storage == kPods) {
      note_all(ns, object,
               {{"ReplicaSet", kReplicaSets},
                {"ReplicationController", kControllers},
                {"Job", kJobs},
                {"DaemonSet", kDaemonSets},
                {"StatefulSet", kStatefulSets}});
      queue_all(kBudgets, ns);
      queue_all(kServices, ns);
    }
  }

  /// A quota is looked at when what it limits changes. Its status is written by admission before the write that is admitted: to
  /// count at once would take back what that write is about to use.
  void note_quota(const ObjectKey& key, const Json* object) {
    queue_others(key);
    if (object == nullptr) return;
    if (object_at(*object, {"spec", "hard"}) != object_at(*object, {"status", "hard"})) {
      queue.insert(key);
    } else {
      put_aside_locked(key, kQuotaReview);
    }
  }

  /// Quotas may count quotas.
  void queue_others(const ObjectKey& key) {
    const auto list = server.engine().store().list(kQuotas, key.ns);
    if (!list) return;
    for (const auto& item : list->items) {
      const Json other = item.object->json();
      if (item.name != key.name && find(other, {"spec", "hard", "resourcequotas"}) != nullptr)
        queue.insert({kQuotas, item.ns, item.name});
    }
  }

  void queue_service(const std::string& ns, const std::string& name) {
    if (server.engine().store().get(kServices, ns, name)) queue.insert({kServices, ns, name});
  }

  void queue_all(const char* storage, const std::string& ns) {
    if (server.engine().store().count(storage, ns) == 0) return;
    if (const auto list = server.engine().store().list(storage, ns)) {
      for (const auto& item : list->items) queue.insert({storage, item.ns, item.name});
    }
  }

  /// The controllers of an object. Of one that nobody controls, or that is gone, all that there are in its namespace: one may
  /// adopt it, or has just let it go.
  void note_all(const std::string& ns, const Json* object,
                std::initializer_list<std::pair<std::string_view, const char*>> controllers) {
    const bool known = object != nullptr && !controller_uid(*object).empty();
    for (const auto& [kind, storage] : controllers) {
      if (known) {
        note_owner(ns, object, kind, storage);
      } else {
        queue_all(storage, ns);
      }
    }
  }

  void note_owner(const std::string& ns, const Json* object, std::string_view kind, const char* storage) {
    if (object == nullptr) return;
    for (const Json& owner : list_at(*object, {"metadata", "ownerReferences"})) {
      if (str(owner, {"kind"}) == kind) queue.insert({storage, ns, str(owner, {"name"})});
    }
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
        const auto key = *queue.begin();
        queue.erase(queue.begin());
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
    return {server.engine(), ca, ca.certificate, [this, key](Duration after) { add_after(key, after); },
            &server.pending_writes()};
  }

  void sync(const ObjectKey& key) {
    const auto with = context(key);
    if (key.storage == kNamespaces) return sync_namespace(with, key.name);
    if (key.storage == kDefinitions) return sync_definition(with, key.name);
    if (key.storage == kRequests) return sync_signing(with, key.name);
    if (key.storage == kClusterRoles) return sync_aggregated_roles(with);
    if (key.storage == kDeployments) return sync_deployment(with, key.ns, key.name);
    if (key.storage == kReplicaSets) return sync_replica_set(with, key.ns, key.name);
    if (key.storage == kControllers) return sync_replication_controller(with, key.ns, key.name);
    if (key.storage == kDaemonSets) return sync_daemon_set(with, key.ns, key.name);
    if (key.storage == kStatefulSets) return sync_stateful_set(with, key.ns, key.name);
    if (key.storage == kBudgets) return sync_disruption_budget(with, key.ns, key.name);
    if (key.storage == kJobs) return sync_job(with, key.ns, key.name);
    if (key.storage == kEvents) return sync_event(with, key.ns, key.name);
    if (key.storage == kServices) return sync_service(with, key.ns, key.name);
    if (key.storage == kQuotas) return sync_resource_quota(with, key.ns, key.name);
    if (key.storage == kCronJobs) return sync_cron_job(with, key.ns, key.name);
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
