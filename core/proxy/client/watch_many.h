// Watches of one type on many clusters, all on one connection to the gateway.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/transport/transport.h"

namespace fleetadm::proxy {

struct WatchMany {
  kube::Transport& gateway;
  std::vector<std::string> clusters;
  std::stop_token stop = {};
};

/// What came of a cluster.
struct WatchNews {
  enum class Kind { kEvent, kEnded, kRelisted };
  std::size_t which = 0;  // of the clusters
  Kind kind = Kind::kEvent;
  Json document;               // of kEvent the event's, of kRelisted the whole list
  std::optional<Error> error;  // of kEnded: why, where it was not the server's usual end
};

/// `request` is the list's that a cluster is to be watched with (its path is that at the member); `version` is where the watch of
/// a cluster begins, and empty where the list is to be read first. A watch that ends is begun again where it was, or where the
/// server has forgotten that, after a new list; a failure is told once until there is an answer again. `news` runs on the calling
/// thread. Until told to stop. Not from the I/O thread.
void watch_many(const WatchMany& plan, const std::function<kube::Request(std::size_t which)>& request,
                std::vector<std::string> versions, const std::function<void(WatchNews news)>& news);

}  // namespace fleetadm::proxy
