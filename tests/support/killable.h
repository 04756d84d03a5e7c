// Controllers in this process that count their writes and can be killed after any of them: from then on none is sent.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "core/controller/controller.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::testkit {

class Killable {
 public:
  /// Adds controllers whose clients have this gate.
  using Add = std::function<void(controller::Manager&, const std::shared_ptr<kube::WriteGate>&)>;

  Killable() = default;
  ~Killable() { stop(); }
  Killable(const Killable&) = delete;
  Killable& operator=(const Killable&) = delete;

  /// Ends those that run, and starts new ones; where `die_after` is not negative, they send no write any more after so many.
  void start(const Add& add, int die_after = -1);
  void stop();
  /// Since the last start.
  int writes() const { return *writes_; }

 private:
  std::shared_ptr<std::atomic<int>> writes_ = std::make_shared<std::atomic<int>>(0);
  std::unique_ptr<controller::Manager> manager_;
  std::jthread thread_;
};

}  // namespace fleetadm::testkit
