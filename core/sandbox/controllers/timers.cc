#include "core/sandbox/controllers/timers.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

namespace fleetadm::sandbox {

struct Timers::State {
  std::mutex mutex;  // everything below
  std::condition_variable changed;
  std::multimap<std::chrono::steady_clock::time_point, std::function<void()>> tasks;
  bool stopped = false;
};

Timers::Timers() : state_(std::make_shared<State>()), thread_([state = state_] { run(*state); }) {}

Timers::~Timers() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopped = true;
  }
  state_->changed.notify_all();
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();  // a task held the last reference; the thread ends when it returns
  } else {
    thread_.join();
  }
}

void Timers::after(Duration wait, std::function<void()> task) {
  const auto at = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(wait);
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopped) return;
    state_->tasks.emplace(at, std::move(task));
  }
  state_->changed.notify_all();
}

RunAfter Timers::of(const std::shared_ptr<Timers>& timers) {
  return [weak = std::weak_ptr<Timers>(timers)](Duration wait, std::function<void()> task) {
    if (const auto here = weak.lock()) here->after(wait, std::move(task));
  };
}

void Timers::run(State& state) {
  std::unique_lock lock(state.mutex);
  while (!state.stopped) {
    if (state.tasks.empty()) {
      state.changed.wait(lock);
      continue;
    }
    const auto first = state.tasks.begin();
    if (const auto at = first->first; at > std::chrono::steady_clock::now()) {
      state.changed.wait_until(lock, at);
      continue;
    }
    std::function<void()> task = std::move(first->second);
    state.tasks.erase(first);
    lock.unlock();
    task();
    task = nullptr;  // what it holds may go now
    lock.lock();
  }
}

}  // namespace fleetadm::sandbox
