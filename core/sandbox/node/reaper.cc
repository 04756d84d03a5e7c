#include "core/sandbox/node/reaper.h"

#include <cstdint>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace fleetadm::sandbox {

Reaper::Reaper() : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = wake_}};
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

void Reaper::watch(int pidfd, std::function<void()> ended) {
  {
    const std::lock_guard lock(mutex_);
    watched_[pidfd] = std::move(ended);
  }
  epoll_event event{.events = EPOLLIN, .data = {.fd = pidfd}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, pidfd, &event);
}

void Reaper::loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    epoll_event event{};
    if (epoll_wait(epoll_, &event, 1, -1) <= 0 || event.data.fd == wake_) continue;
    epoll_ctl(epoll_, EPOLL_CTL_DEL, event.data.fd, nullptr);
    std::function<void()> ended;
    {
      const std::lock_guard lock(mutex_);
      if (auto found = watched_.extract(event.data.fd)) ended = std::move(found.mapped());
    }
    if (ended) ended();
  }
}

}  // namespace fleetadm::sandbox
