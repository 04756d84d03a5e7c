// Reads from many clusters at once, through one connection to the gateway.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "kubeclient/transport/transport.h"

namespace fleetadm::proxy {

struct FanOut {
  kube::Transport& gateway;
  std::vector<std::string> clusters;
  Duration deadline = std::chrono::seconds(10);  // of all requests to a cluster together, from the first one on
  std::size_t at_once = 900;  // clusters that are asked at a time, which stays below the gateway's limit for a caller
  std::stop_token stop = {};
};

struct FanOutAnswer {
  std::size_t which = 0;  // of the clusters
  /// Any status; kTimeout when the deadline has passed, kCancelled when told to stop.
  Result<kube::Response> response;
  Duration took{};  // since the cluster was first asked
};

/// Asks every cluster what `first` asks (its path is that at the member), and each one what `next` answers to an answer of it,
/// until that is nothing. `next` runs on the calling thread. An answer of 429 is tried again when it says so, within the
/// deadline. Answers are bounded (64 MiB). Not from the I/O thread.
void fan_out(const FanOut& plan, const kube::Request& first,
             const std::function<std::optional<kube::Request>(FanOutAnswer answer)>& next);

}  // namespace fleetadm::proxy
