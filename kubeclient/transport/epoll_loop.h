// The I/O loop: one thread, epoll, timers and an eventfd for work from other threads. libcurl's sockets hang on it through
// watch(); everything that runs on it must be short.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kubeclient/transport/transport.h"

namespace fleetadm::kube {

class EpollLoop final : public IoLoop {
 public:
  EpollLoop();
  ~EpollLoop() override;  // shutdown()
  EpollLoop(const EpollLoop&) = delete;
  EpollLoop& operator=(const EpollLoop&) = delete;

  /// Stops and joins the thread (detaches it when this is the loop's own thread). Pending and later work is dropped.
  void shutdown();

  void post(std::function<void()> work) override;
  std::uint64_t after(Duration delay, std::function<void()> work) override;
  void cancel(std::uint64_t timer) override;

  /// Calls `ready` with the epoll events of `fd` until unwatch(). A second call replaces the interest. I/O thread only.
  void watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> ready);
  void unwatch(int fd);
  bool on_thread() const;
  /// Runs `work`, which may block for a while (exec plugins), on a second thread that is started on first use.
  void offload(std::function<void()> work);

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace fleetadm::kube
