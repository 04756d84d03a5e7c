// The queues of all controllers of a Manager, which the threads of a pool empty. Knows nothing of Kubernetes.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/controller/controller.h"
#include "core/controller/worker_pool.h"

namespace fleetadm::controller {

/// The wait before the n-th try in a row of a key that fails (n ≥ 1): 5 ms, 10 ms, … at most 1,000 s.
Duration failure_backoff(int failures);

/// What one controller did so far.
struct LaneStats {
  std::string name;
  std::size_t depth = 0;    // keys that wait for a worker
  std::size_t delayed = 0;  // keys that wait for a moment
  std::size_t active = 0;   // keys being worked on
  std::uint64_t adds = 0;
  std::uint64_t retries = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  double seconds = 0;  // spent in reconcile
};

/// Thread-safe. A lane is one controller: its queue, its limits, its function.
class Scheduler final : public WorkerPool::Member, public std::enable_shared_from_this<Scheduler> {
 public:
  /// `log_file`: where lines of the reconciles go; empty: stderr.
  explicit Scheduler(std::string log_file = {}) : log_file_(std::move(log_file)) {}

  std::shared_ptr<Queue> add_lane(ControllerOptions options, Reconcile reconcile);

  /// Begins to work on threads of the pool, on at most `threads` of them at a time. Nothing where it works already.
  void start(std::shared_ptr<WorkerPool> pool, int threads);
  /// Returns when the last reconcile returned; each of them sees its stop token set. Not from a reconcile of its own.
  void stop();
  /// start(), wait for `stop`, stop(). Without a pool it gets one of its own.
  void run(int threads, std::stop_token stop, std::shared_ptr<WorkerPool> pool = nullptr);

  std::vector<LaneStats> stats() const;

  void work_once() override;
  void on_time() override;

 private:
  using Steady = std::chrono::steady_clock;
  struct Active {
    std::stop_source source;
    Steady::time_point deadline;
    bool again = false;  // added while it was worked on
  };
  struct Lane {
    ControllerOptions options;
    Reconcile reconcile;
    std::list<std::string> ready;  // most are empty, and there are many
    std::unordered_set<std::string> queued;
    std::unordered_map<std::string, Active> active;
    std::unordered_map<std::string, int> failures;
    // A key's own next look (requeue_after, back-off) is replaced by its next outcome; one asked for from outside is kept.
    std::unordered_map<std::string, Steady::time_point> own, asked;
    std::uint64_t adds = 0, retries = 0, succeeded = 0, failed = 0;
    double seconds = 0;
  };
  class LaneQueue;
  using Timer = std::tuple<Steady::time_point, std::size_t, std::string, bool>;  // when, lane, key, own

  void add(std::size_t lane, std::string key);
  void add_after(std::size_t lane, std::string key, Duration delay);
  void push(Lane& lane, std::string key);                                                    // locked
  void schedule(std::size_t lane, const std::string& key, Steady::time_point at, bool own);  // locked
  void unschedule(std::size_t lane, const std::string& key, bool own);                       // locked
  Lane* pick(std::string& key, std::size_t& index);                                          // locked
  bool has_work() const;                                                                     // locked
  void offer();                                                                              // locked
  /// False: it is being stopped.
  bool finish(std::size_t index, const std::string& key, const Result<Outcome>& result, Duration took);
  void wake_at(Steady::time_point at);         // locked
  Steady::time_point next_wake() const;        // locked
  void resync(std::size_t index, bool first);  // locked

  const std::string log_file_;
  mutable std::mutex mutex_;
  std::shared_ptr<WorkerPool> pool_;  // while it works
  std::size_t limit_ = 1;             // threads of the pool at a time
  std::size_t active_ = 0;            // reconciles that run
  bool offered_ = false;              // to the pool
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::set<Timer> timers_;
  std::vector<std::pair<Steady::time_point, std::size_t>> resyncs_;
  std::size_t next_lane_ = 0;
};

}  // namespace fleetadm::controller
