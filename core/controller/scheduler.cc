#include "core/controller/scheduler.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <utility>

#include "kubeclient/base/backoff.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/log_file.h"

namespace fleetadm::controller {
namespace {

void report(const std::string& controller, const std::string& key, const Error& error) {
  const std::string line = key + ": " + error.message;
  // A conflict is the ordinary way to learn that a cache was behind; the retry mends it.
  if (error.category == Category::kConflict || error.category == Category::kCancelled) {
    log::info(2, controller, line);
  } else {
    log::warn(controller, line);
  }
}

}  // namespace

Duration failure_backoff(int failures) {
  constexpr Duration kFirst = std::chrono::milliseconds(5);
  constexpr Duration kMax = std::chrono::seconds(1000);
  return backoff_delay(kFirst, kMax, failures);
}

class Scheduler::LaneQueue final : public Queue {
 public:
  LaneQueue(std::weak_ptr<Scheduler> owner, std::size_t lane) : owner_(std::move(owner)), lane_(lane) {}
  void add(std::string key) override {
    if (const auto owner = owner_.lock()) owner->add(lane_, std::move(key));
  }
  void add_after(std::string key, Duration delay) override {
    if (const auto owner = owner_.lock()) owner->add_after(lane_, std::move(key), delay);
  }

 private:
  std::weak_ptr<Scheduler> owner_;  // informers hold queues and reconcilers hold informers: no cycle through here
  std::size_t lane_;
};

std::shared_ptr<Queue> Scheduler::add_lane(ControllerOptions options, Reconcile reconcile) {
  const std::lock_guard lock(mutex_);
  auto lane = std::make_unique<Lane>();
  options.workers = std::max(1, options.workers);
  lane->options = std::move(options);
  lane->reconcile = std::move(reconcile);
  lanes_.push_back(std::move(lane));
  return std::make_shared<LaneQueue>(weak_from_this(), lanes_.size() - 1);
}

void Scheduler::add(std::size_t lane, std::string key) {
  const std::lock_guard lock(mutex_);
  ++lanes_[lane]->adds;
  push(*lanes_[lane], std::move(key));
}

void Scheduler::add_after(std::size_t lane, std::string key, Duration delay) {
  if (delay <= Duration::zero()) return add(lane, std::move(key));
  const std::lock_guard lock(mutex_);
  schedule(lane, key, Steady::now() + std::chrono::duration_cast<Steady::duration>(delay), false);
}

void Scheduler::push(Lane& lane, std::string key) {
  if (const auto running = lane.active.find(key); running != lane.active.end()) {
    running->second.again = true;
    return;
  }
  if (!lane.queued.insert(key).second) return;
  lane.ready.push_back(std::move(key));
  offer();
}

void Scheduler::schedule(std::size_t lane, const std::string& key, Steady::time_point at, bool own) {
  auto& times = own ? lanes_[lane]->own : lanes_[lane]->asked;
  if (const auto known = times.find(key); known != times.end()) {
    if (!own && known->second <= at) return;
    timers_.erase(Timer{known->second, lane, key, own});
    known->second = at;
  } else {
    times.emplace(key, at);
  }
  timers_.emplace(at, lane, key, own);
  wake_at(at);
}

void Scheduler::unschedule(std::size_t lane, const std::string& key, bool own) {
  auto& times = own ? lanes_[lane]->own : lanes_[lane]->asked;
  const auto known = times.find(key);
  if (known == times.end()) return;
  timers_.erase(Timer{known->second, lane, key, own});
  times.erase(known);
}

Scheduler::Lane* Scheduler::pick(std::string& key, std::size_t& index) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    index = (next_lane_ + i) % lanes_.size();
    Lane& lane = *lanes_[index];
    if (lane.ready.empty() || lane.active.size() >= static_cast<std::size_t>(lane.options.workers)) continue;
    key = std::move(lane.ready.front());
    lane.ready.pop_front();
    lane.queued.erase(key);
    unschedule(index, key, true);
    next_lane_ = index + 1;
    return &lane;
  }
  return nullptr;
}

bool Scheduler::has_work() const {
  if (active_ >= limit_) return false;
  return std::ranges::any_of(lanes_, [](const auto& lane) {
    return !lane->ready.empty() && lane->active.size() < static_cast<std::size_t>(lane->options.workers);
  });
}

// It stands in the pool's line once, so that many keys here do not delay the keys of others.
void Scheduler::offer() {
  if (!pool_ || offered_ || !has_work()) return;
  offered_ = true;
  pool_->offer(shared_from_this());
}

void Scheduler::work_once() {
  std::string key;
  std::size_t index = 0;
  Lane* lane = nullptr;
  std::stop_token ours;
  {
    const std::lock_guard lock(mutex_);
    offered_ = false;
    if (!pool_ || active_ >= limit_ || (lane = pick(key, index)) == nullptr) return;
    Active active;
    active.deadline = Steady::now() + std::chrono::duration_cast<Steady::duration>(lane->options.reconcile_timeout);
    ours = active.source.get_token();
    wake_at(active.deadline);
    lane->active.emplace(key, std::move(active));
    ++active_;
    offer();
  }
  const log::ToFile scope(log_file_);
  const auto began = Steady::now();
  Result<Outcome> result = Outcome{};
  try {
    result = lane->reconcile(key, ours);
  } catch (const std::exception& problem) {
    result = fail(Category::kInternal, std::string("reconcile threw: ") + problem.what());
  }
  const auto took = Steady::now() - began;
  const bool stopping = !finish(index, key, result, took);
  if (!result && !stopping) report(lane->options.name, key, result.error());
}

bool Scheduler::finish(std::size_t index, const std::string& key, const Result<Outcome>& result, Duration took) {
  const std::lock_guard lock(mutex_);
  Lane& lane = *lanes_[index];
  lane.seconds += std::chrono::duration<double>(took).count();
  const auto running = lane.active.find(key);
  const bool again = running != lane.active.end() && running->second.again;
  if (running != lane.active.end()) lane.active.erase(running);
  std::optional<Duration> next;
  if (result) {
    ++lane.succeeded;
    lane.failures.erase(key);
    next = result->requeue_after;
  } else {
    ++lane.failed;
    ++lane.retries;
    const int failures = std::min(++lane.failures[key], 1000);
    next = std::max<Duration>(failure_backoff(failures), std::chrono::seconds(result.error().retry_after_seconds));
  }
  if (next) {
    schedule(index, key, Steady::now() + std::chrono::duration_cast<Steady::duration>(std::max(*next, Duration::zero())), true);
  }
  --active_;
  if (again) push(lane, key);
  offer();
  return pool_ != nullptr;
}

void Scheduler::resync(std::size_t index, bool first) {
  Lane& lane = *lanes_[index];
  for (const std::string& key : lane.options.resync_keys) {
    ++lane.adds;
    push(lane, key);
  }
  if (lane.options.resync <= Duration::zero()) return;
  const auto at = Steady::now() + std::chrono::duration_cast<Steady::duration>(jittered(lane.options.resync, 0.1));
  if (first) {
    resyncs_.emplace_back(at, index);
  } else {
    for (auto& [when, lane_index] : resyncs_) {
      if (lane_index == index) when = at;
    }
  }
}

void Scheduler::wake_at(Steady::time_point at) {
  if (pool_) pool_->wake_at(shared_from_this(), at);
}

Scheduler::Steady::time_point Scheduler::next_wake() const {
  auto wake = Steady::time_point::max();
  if (!timers_.empty()) wake = std::get<0>(*timers_.begin());
  for (const auto& [when, lane] : resyncs_) wake = std::min(wake, when);
  for (const auto& lane : lanes_) {
    for (const auto& [key, active] : lane->active) {
      if (!active.source.stop_requested()) wake = std::min(wake, active.deadline);
    }
  }
  return wake;
}

void Scheduler::on_time() {
  std::vector<std::stop_source> late;
  {
    const std::lock_guard lock(mutex_);
    if (!pool_) return;
    const auto now = Steady::now();
    while (!timers_.empty() && std::get<0>(*timers_.begin()) <= now) {
      const auto [at, lane, key, own] = *timers_.begin();
      unschedule(lane, key, own);
      push(*lanes_[lane], key);
    }
    for (const auto& [when, lane] : std::vector(resyncs_)) {
      if (when <= now) resync(lane, false);
    }
    for (const auto& lane : lanes_) {
      for (auto& [key, active] : lane->active) {
        if (active.source.stop_requested() || active.deadline > now) continue;
        late.push_back(active.source);
        log::warn(lane->options.name, key + ": reconcile takes too long and is cancelled");
      }
    }
  }
  // Stop callbacks run here and may take locks of their own.
  for (auto& source : late) source.request_stop();
  const std::lock_guard lock(mutex_);
  if (const auto next = next_wake(); next != Steady::time_point::max()) wake_at(next);
}

void Scheduler::start(std::shared_ptr<WorkerPool> pool, int threads) {
  const std::lock_guard lock(mutex_);
  if (pool_) return;
  pool_ = std::move(pool);
  limit_ = static_cast<std::size_t>(std::max(1, threads));
  resyncs_.clear();
  for (std::size_t i = 0; i < lanes_.size(); ++i) resync(i, true);
  if (const auto next = next_wake(); next != Steady::time_point::max()) wake_at(next);
  offer();  // what was added before
}

void Scheduler::stop() {
  std::shared_ptr<WorkerPool> pool;
  std::vector<std::stop_source> running;
  {
    const std::lock_guard lock(mutex_);
    if (!pool_) return;
    pool = std::exchange(pool_, nullptr);
    for (const auto& lane : lanes_) {
      for (auto& [key, active] : lane->active) running.push_back(active.source);
    }
  }
  for (auto& source : running) source.request_stop();
  pool->forget(*this);
  const std::lock_guard lock(mutex_);
  offered_ = false;
}

void Scheduler::run(int threads, std::stop_token stop, std::shared_ptr<WorkerPool> pool) {
  if (!pool) pool = std::make_shared<WorkerPool>(static_cast<std::size_t>(std::max(1, threads)));
  start(pool, threads);
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait(lock, stop, [] { return false; });
  this->stop();
}

std::vector<LaneStats> Scheduler::stats() const {
  const std::lock_guard lock(mutex_);
  std::vector<LaneStats> all;
  all.reserve(lanes_.size());
  for (const auto& lane : lanes_) {
    LaneStats s;
    s.name = lane->options.name;
    s.depth = lane->ready.size();
    s.delayed = lane->own.size() + lane->asked.size();
    s.active = lane->active.size();
    s.adds = lane->adds;
    s.retries = lane->retries;
    s.succeeded = lane->succeeded;
    s.failed = lane->failed;
    s.seconds = lane->seconds;
    all.push_back(std::move(s));
  }
  return all;
}

}  // namespace fleetadm::controller
