#include "cli/activity.h"

#include <utility>

namespace fleetadm::cli {

Activity::Activity(std::function<void(bool)> show, std::chrono::milliseconds patience)
    : show_(std::move(show)), patience_(patience), timer_([this](const std::stop_token& stop) { run(stop); }) {}

void Activity::sent() {
  const std::lock_guard lock(mutex_);
  if (++waiting_ == 1 && !closed_) wake_.notify_all();
}

void Activity::answered() {
  const std::lock_guard lock(mutex_);
  if (waiting_ == 0 || --waiting_ > 0) return;
  ++quiet_times_;
  if (shown_) show_(false);
  shown_ = false;
  wake_.notify_all();
}

void Activity::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  if (shown_) show_(false);
  shown_ = false;
}

void Activity::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (wake_.wait(lock, stop, [this] { return waiting_ > 0 && !shown_ && !closed_; })) {
    const auto before = quiet_times_;
    const bool over = wake_.wait_for(lock, stop, patience_, [&] { return quiet_times_ != before; });
    if (over || closed_ || stop.stop_requested()) continue;
    show_(true);
    shown_ = true;
  }
}

}  // namespace fleetadm::cli
