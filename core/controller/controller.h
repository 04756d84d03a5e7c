// What every controller needs: a rate-limited queue of keys, workers, informers that feed it, and one place that starts and
// stops it all. Controllers are level-triggered: reconcile(key) reads caches, computes the wanted state and writes the
// difference.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/result.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::controller {

class WorkerPool;

/// When to look again although nothing changed. nullopt: only on the next event.
struct Outcome {
  std::optional<Duration> requeue_after;
};
using Reconcile = std::function<Result<Outcome>(const std::string& key, std::stop_token stop)>;

/// Keys waiting for a worker: a key is in the queue once, is never worked on twice at a time, and comes back after a delay.
/// Failures: exponential 5 ms → 1,000 s by key. Thread-safe; add() may be called on the I/O thread.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual void add(std::string key) = 0;
  virtual void add_after(std::string key, Duration delay) = 0;
};

struct ControllerOptions {
  std::string name;
  int workers = 1;
  /// Each key of the `resync_key` list is added at start and then every period (jittered up to 10 %); zero: never.
  Duration resync = Duration::zero();
  std::vector<std::string> resync_keys;
  Duration reconcile_timeout = std::chrono::minutes(2);
};

/// Owns informers and controllers. Their reconciles run on at most `threads` threads at a time: of the given pool, which the
/// managers of a process can share, else of a pool of its own.
class Manager {
 public:
  struct Options {
    int threads = 4;
    std::string health_address;  // "127.0.0.1:0" or ":8443"; empty: no health server
    std::shared_ptr<Clock> clock = Clock::system();
    std::shared_ptr<WorkerPool> pool = nullptr;
    std::string log_file = {};  // lines of reconciles are appended to it; empty: stderr
  };
  explicit Manager(Options options);
  ~Manager();  // stops
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  /// The shared informer for (client's transport, resource, options.ns, selectors): asked twice, made once (where the options
  /// have no indexes and no projection; those are always made anew).
  std::shared_ptr<kube::Informer> informer(const kube::Client& client, const kube::Resource& resource,
                                           kube::InformerOptions options = {});
  /// Registers a controller; the queue is valid for the manager's life. Before run().
  std::shared_ptr<Queue> add(ControllerOptions options, Reconcile reconcile);
  /// Wires an informer's events to a queue; `keys` maps an object to the keys to add (default: the object's own key).
  static void enqueue_on(kube::Informer& informer, std::shared_ptr<Queue> queue,
                         std::function<std::vector<std::string>(const kube::CachedObject&)> keys = {});
  /// A named health check: empty text is healthy.
  void add_health_check(std::string name, std::function<std::string()> check);
  /// A page on the health server by path prefix ("/debug/placements/"), over loopback only: kubectl port-forward reaches it.
  struct Page {
    int status = 200;
    std::string content_type = "application/json";
    std::string body;
  };
  void add_page(std::string prefix, std::function<Page(std::string_view path)> page);
  /// More of /metrics, in the same format. It is asked on the health server's thread and must not wait.
  void add_metrics(std::function<std::string()> more);
  /// Shows the controllers and caches of `other` in this manager's /metrics, too, for as long as `other` lives.
  void count_too(const Manager& other);

  /// Asks what its caches still lack, in words, one line each; empty: nothing. It may be asked when the manager is no more.
  std::function<std::string()> unsynced() const;
  /// The same without types that their server does not serve: of what works without them.
  std::function<std::string()> unsynced_of_served() const;

  /// Starts the health server now (a standby answers probes before it leads); run() does it otherwise. Nothing without an
  /// address.
  Status serve_health();
  /// Where the health server listens ("127.0.0.1:43121"); empty while it does not.
  std::string health_endpoint() const;

  /// Starts informers, waits until all are synced (10 min; else kTimeout), runs workers until `stop`, then stops everything.
  Status run(std::stop_token stop);

  /// The same without a thread that waits, on the given pool: reconciles begin once all informers are synced, however long
  /// that takes. Once in a manager's life, after its informers were made.
  Status start();
  /// Ends what start() began, also before the informers are synced. Returns when the last reconcile returned. Not from one of its
  /// own.
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Sets a condition in a list of metav1.Condition: lastTransitionTime changes only with the status. True where anything changed.
/// `observed_generation` < 0: the member is not written.
bool set_condition(Json& conditions, std::string_view type, std::string_view status, std::string_view reason,
                   std::string_view message, Instant now, std::int64_t observed_generation = -1);
/// The condition of a type in object.status.conditions, or nullptr.
const Json* find_condition(const Json& object, std::string_view type);
bool condition_is(const Json& object, std::string_view type, std::string_view status);

}  // namespace fleetadm::controller
