#include "core/controller/worker_pool.h"

#include <algorithm>

namespace fleetadm::controller {

WorkerPool::WorkerPool(std::size_t threads) : most_(std::max<std::size_t>(1, threads)) {}

WorkerPool::~WorkerPool() {
  std::vector<std::thread> workers;
  std::thread timekeeper;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    workers.swap(workers_);
    timekeeper.swap(timekeeper_);
  }
  work_ready_.notify_all();
  time_changed_.notify_all();
  for (auto& worker : workers) worker.join();
  if (timekeeper.joinable()) timekeeper.join();
}

void WorkerPool::offer(std::shared_ptr<Member> member) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    offered_.push_back(std::move(member));
    if (idle_ < offered_.size() && workers_.size() < most_) workers_.emplace_back([this] { work(); });
  }
  work_ready_.notify_one();
}

void WorkerPool::wake_at(const std::shared_ptr<Member>& member, Moment at) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    if (const auto known = wakes_.find(member.get()); known != wakes_.end()) {
      if (known->second.first <= at) return;
      times_.erase({known->second.first, member.get()});
      wakes_.erase(known);
    }
    wakes_.try_emplace(member.get(), at, member);
    times_.emplace(at, member.get());
    if (!timekeeper_.joinable()) timekeeper_ = std::thread([this] { keep_time(); });
    if (times_.begin()->second != member.get()) return;
  }
  time_changed_.notify_one();
}

void WorkerPool::forget(const Member& member) {
  std::unique_lock lock(mutex_);
  if (const auto known = wakes_.find(&member); known != wakes_.end()) {
    times_.erase({known->second.first, &member});
    wakes_.erase(known);
  }
  std::erase_if(offered_, [&member](const auto& one) { return one.get() == &member; });
  left_.wait(lock, [&] { return !in_use_.contains(&member); });
}

// Lets go of the member before others are told: who waits in forget() has the last hold of it.
void WorkerPool::use(std::shared_ptr<Member> member, void (Member::*call)(), std::unique_lock<std::mutex>& lock) {
  const Member* const which = member.get();
  ++in_use_[which];
  lock.unlock();
  ((*member).*call)();
  member.reset();
  lock.lock();
  if (--in_use_[which] > 0) return;
  in_use_.erase(which);
  left_.notify_all();
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    work_ready_.wait(lock, [this] { return stopped_ || !offered_.empty(); });
    --idle_;
    if (stopped_) return;
    std::shared_ptr<Member> member = std::move(offered_.front());
    offered_.pop_front();
    use(std::move(member), &Member::work_once, lock);
  }
}

void WorkerPool::keep_time() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (times_.empty()) {
      time_changed_.wait(lock);
      continue;
    }
    const auto first = *times_.begin();
    if (first.first > std::chrono::steady_clock::now()) {
      time_changed_.wait_until(lock, first.first);
      continue;
    }
    times_.erase(times_.begin());
    const auto known = wakes_.find(first.second);
    std::shared_ptr<Member> member = known->second.second.lock();
    wakes_.erase(known);
    if (member) use(std::move(member), &Member::on_time, lock);
  }
}

}  // namespace fleetadm::controller
