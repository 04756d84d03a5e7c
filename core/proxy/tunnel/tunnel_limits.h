// What the ends of a tunnel hold at most, and how long they wait.
#pragma once

#include <chrono>
#include <cstddef>

#include "kubeclient/http2/keep_alive.h"

namespace fleetadm::proxy {

struct TunnelLimits {
  std::size_t streams = 1000;                    // at the same time; the agent may allow fewer
  std::size_t waiting = 1024;                    // requests, for one of them to end; more are refused
  std::size_t window = std::size_t{512} * 1024;  // of a body in either direction: what is held before its reader has read it
  std::size_t header = std::size_t{64} * 1024;   // of a message
  std::chrono::milliseconds queue{10'000};       // that a request waits
  std::chrono::milliseconds head{90'000};        // from a request's last byte to its answer's head; the agent gives up before
  kube::KeepAliveTimes keep_alive{std::chrono::milliseconds(5000), std::chrono::milliseconds(8500)};
  /// An agent that has not answered a ping for so long is silent: requests that wait for its answers fail, and the next go
  /// elsewhere.
  std::chrono::milliseconds silence{3500};
};

}  // namespace fleetadm::proxy
