// events.k8s.io/v1 Events: one object a distinct happening, repeated ones become a series
// (docs/reference/kubernetes-api.md#events).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kubeclient/rest/client.h"

namespace fleetadm::kube {

class Recorder {
 public:
  Recorder(Client client, std::string controller, std::string instance, std::shared_ptr<Clock> clock = Clock::system());
  /// `type` is "Normal" or "Warning". `ns`: where the Event lives (the regarding object's namespace, or "default"). Failures are
  /// logged, not returned: an event is never worth failing for. Does not block: sent from a small queue, 64 at once and 20 a
  /// second for longer, dropped when it is full.
  void event(const Json& regarding, std::string_view ns, std::string_view type, std::string_view reason, std::string_view action,
             std::string_view note);
  /// Waits (bounded) until what was queued is sent.
  void flush(Duration timeout);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace fleetadm::kube
