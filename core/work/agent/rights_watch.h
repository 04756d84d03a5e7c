// Watches what gives rights on the spoke (roles and bindings, names only) while works have executors, so that a right that was
// granted or revoked is noticed at once.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kubeclient/base/clock.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::work {

class RightsWatch {
 public:
  /// `wake` is called with the name of each tracked work, on the I/O thread.
  RightsWatch(const kube::Client& spoke, std::shared_ptr<Clock> clock, std::function<void(const std::string& work)> wake);
  ~RightsWatch();  // stops
  RightsWatch(const RightsWatch&) = delete;
  RightsWatch& operator=(const RightsWatch&) = delete;

  /// Whether the rights of a work's executor matter. The watches run while any work's do. Thread-safe.
  void track(const std::string& work, bool has_executor);
  /// All watches are in sync: a change that they do not show has not happened.
  bool reliable() const;
  /// From when on an answer of the server takes the last change into account: its authorizer follows a watch, too.
  Instant settled_at() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace fleetadm::work
