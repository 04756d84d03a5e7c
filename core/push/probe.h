// Asks a member how it is without a thread that waits: however many members hang, no other one's probe is later for it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "core/push/health.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/transport/transport.h"

namespace fleetadm::push {

/// One look at a time. Thread-safe.
class Prober {
 public:
  using Done = std::function<void(Look)>;
  using IsNews = std::function<bool(const Look&)>;

  Prober(std::shared_ptr<kube::Transport> member, Duration timeout, std::shared_ptr<Clock> clock,
         std::shared_ptr<kube::IoLoop> loop = kube::IoLoop::shared());
  ~Prober();  // its callbacks are not called any more
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  /// Begins a look; `done` is called on the I/O thread, after `timeout` at the latest. False where one is under way, which is
  /// told then, and to whom it was to be told.
  bool begin(Done done);
  /// After each period looks again, on the I/O thread alone, until a look is news: that one is told, and is the last. begin()
  /// ends it. `is_news` must not block, nor call this.
  void keep_looking(Duration period, IsNews is_news, Done done);
  /// Ends keep_looking(), without a word.
  void stop_looking();

 private:
  class Run;

  const std::shared_ptr<kube::Transport> member_;
  const Duration timeout_;
  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<kube::IoLoop> loop_;
  std::mutex mutex_;
  std::shared_ptr<Run> run_;
};

}  // namespace fleetadm::push
