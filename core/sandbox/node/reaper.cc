#include "core/sandbox/node/reaper.h"

#include <cstdint>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace fleetadm::sandbox {
namespace {

constexpr std::uint64_t kWake = 0;  // processes are counted from 1

}  // namespace

Reaper::Reaper() : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kWake}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
  thread_ = std::jthread([this](const std::stop_token& stop) { loop(stop); });
}

Reaper::~Reaper() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
  thread_.join();
  close(wake_);
  close(epoll_);
}

// A descriptor's number may be another process's by the time that an event is looked at: the event says whose it is.
void Reaper::watch(int pidfd, std::function<void()> ended) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t number = ++last_number_;
  watched_[pidfd] = {number, std::move(ended)};
  epoll_event event{.events = EPOLLIN | EPOLLONESHOT,
                    .data = {.u64 = (static_cast<std::uint64_t>(number) << 32U) | static_cast<std::uint32_t>(pidfd)}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, pidfd, &event);
}

void Reaper::loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    epoll_event event{};
    if (epoll_wait(epoll_, &event, 1, -1) <= 0 || event.data.u64 == kWake) continue;
    std::function<void()> ended;
    {
      const std::lock_guard lock(mutex_);
      const auto found = watched_.find(static_cast<int>(event.data.u64 & 0xffffffffU));
      if (found == watched_.end() || found->second.number != event.data.u64 >> 32U) continue;
      ended = std::move(found->second.ended);
      watched_.erase(found);
    }
    if (ended) ended();
  }
}

}  // namespace fleetadm::sandbox
