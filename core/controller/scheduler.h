// The queues of all controllers of a Manager and the pool of threads that empties them. Knows nothing of Kubernetes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/controller/controller.h"

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
class Scheduler : public std::enable_shared_from_this<Scheduler> {
 public:
  std::shared_ptr<Queue> add_lane(ControllerOptions options, Reconcile reconcile);

  /// Works with at most `threads` workers until `stop`; the calling thread keeps the time (delays, time limits). Returns when
  /// the last reconcile returned; each of them sees its stop token set.
  void run(int threads, std::stop_token stop);

  std::vector<LaneStats> stats() const;

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
    std::deque<std::string> ready;
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
  void work(std::stop_token stop);
  Lane* pick(std::string& key, std::size_t& index);  // locked
  void finish(std::size_t index, const std::string& key, const Result<Outcome>& result, Duration took);
  void keep_time(std::stop_token stop);
  void resync(std::size_t index, bool first);  // locked

  mutable std::mutex mutex_;
  std::condition_variable_any work_ready_;
  std::condition_variable_any time_changed_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::set<Timer> timers_;
  std::vector<std::pair<Steady::time_point, std::size_t>> resyncs_;
  std::size_t next_lane_ = 0;
};

}  // namespace fleetadm::controller
