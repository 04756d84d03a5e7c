// The threads of controllers: one pool for all schedulers of a process, so that neither a cluster nor a session owns threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace fleetadm::controller {

/// Thread-safe. Threads are started when there is work for them, at most as many as asked for, and one more that keeps the time.
/// Members take turns: one that always has work delays another by one piece of work for each thread.
class WorkerPool {
 public:
  /// What runs on a pool.
  class Member {
   public:
    virtual ~Member() = default;
    /// Does one piece of work, if there is one. Offers itself again before, where there is more.
    virtual void work_once() = 0;
    /// The moment that wake_at() named has come. Must not block.
    virtual void on_time() = 0;
  };
  using Moment = std::chrono::steady_clock::time_point;

  explicit WorkerPool(std::size_t threads);
  /// No member may have work any more. Not on one of its own threads.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Has one call of work_once() made.
  void offer(std::shared_ptr<Member> member);
  /// Has on_time() called then, or earlier where that was asked for before.
  void wake_at(const std::shared_ptr<Member>& member, Moment at);
  /// Takes back what was asked for this member; no thread of the pool uses it any more on return. Not from
  /// within a call of the member itself.
  void forget(const Member& member);

  std::size_t threads() const { return most_; }

 private:
  void work();
  void keep_time();

  void use(std::shared_ptr<Member> member, void (Member::*call)(), std::unique_lock<std::mutex>& lock);

  const std::size_t most_;
  std::mutex mutex_;  // everything below; members' locks may be held when it is taken, never the other way round
  std::condition_variable work_ready_;
  std::condition_variable time_changed_;
  std::condition_variable left_;
  std::deque<std::shared_ptr<Member>> offered_;
  std::set<std::pair<Moment, const Member*>> times_;
  std::map<const Member*, std::pair<Moment, std::weak_ptr<Member>>> wakes_;
  std::map<const Member*, int> in_use_;  // by how many threads
  std::size_t idle_ = 0;
  bool stopped_ = false;
  std::vector<std::thread> workers_;
  std::thread timekeeper_;
};

}  // namespace fleetadm::controller
