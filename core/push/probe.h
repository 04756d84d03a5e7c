// Asks a member how it is without a thread that waits: however many members hang, no other one's probe is later for it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "core/push/health.h"
#include "kubeclient/transport/transport.h"

namespace fleetadm::push {

/// One look at a time. Thread-safe.
class Prober {
 public:
  Prober(std::shared_ptr<kube::Transport> member, Duration timeout, std::shared_ptr<kube::IoLoop> loop = kube::IoLoop::shared());
  ~Prober();  // its callback is not called any more
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  /// Begins a look, unless one is under way; `done` is called on the I/O thread, after `timeout` at the latest.
  void begin(std::function<void(Look)> done);

 private:
  class Run;
  std::shared_ptr<kube::Transport> member_;
  Duration timeout_;
  std::shared_ptr<kube::IoLoop> loop_;
  std::mutex mutex_;
  std::shared_ptr<Run> run_;
};

}  // namespace fleetadm::push
