// What the gateway knows of the hub's clusters.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/controller/controller.h"
#include "core/proxy/gateway/front.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::gateway {

/// Thread-safe; never waits for the hub.
class ClusterStates {
 public:
  /// Before the manager starts. `lost`: a cluster was removed, or is no longer accepted; on any thread.
  ClusterStates(controller::Manager& manager, const kube::Client& hub, std::function<void(const std::string& cluster)> lost);

  proxy::ClusterState state(std::string_view cluster) const;

 private:
  void take(const std::string& cluster, bool known, bool accepted);

  std::function<void(const std::string&)> lost_;
  std::shared_ptr<kube::Informer> clusters_;
  mutable std::mutex mutex_;
  std::map<std::string, bool, std::less<>> accepted_;  // by cluster
};

}  // namespace fleetadm::gateway
