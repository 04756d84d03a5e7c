#include "core/serve/http/workers.h"

#include "core/serve/http/server.h"

namespace fleetadm::serve {
namespace {

constexpr std::size_t kMaxStandIns = 32;

}  // namespace

Workers::Workers(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

bool Workers::add(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || tasks_.size() >= kMaxQueuedRequests) return false;
    tasks_.push_back(std::move(task));
  }
  ready_.notify_one();
  return true;
}

void Workers::wait_outside(const std::function<void()>& wait) {
  {
    const std::lock_guard lock(mutex_);
    if (++outside_ > stand_ins_ && stand_ins_ < kMaxStandIns && !stopping_) {
      threads_.emplace_back([this] { run(); });  // it stays: who waited once may wait again
      ++stand_ins_;
    }
  }
  wait();
  const std::lock_guard lock(mutex_);
  --outside_;
}

void Workers::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ready_.notify_all();
  for (auto& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Workers::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    ready_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace fleetadm::serve
