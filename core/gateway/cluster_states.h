// What the gateway knows of the hub's clusters.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
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
  /// Whether the hub dials it, and no agent does.
  bool is_push_member(std::string_view cluster) const;
  /// 503 with the reason and its age, where the last that was told of the cluster is that its API server does not answer. What is
  /// unknown is none: its tunnel tells.
  std::optional<Error> down(std::string_view cluster, Instant now) const;

 private:
  struct Known {
    bool accepted = false;
    bool dialed = false;
    bool down = false;
    std::string why;
    Instant since{};
  };
  static Known read(const Json& cluster);
  void take(const std::string& cluster, std::optional<Known> known);

  std::function<void(const std::string&)> lost_;
  std::shared_ptr<kube::Informer> clusters_;
  mutable std::mutex mutex_;
  std::map<std::string, Known, std::less<>> known_;  // by cluster
};

}  // namespace fleetadm::gateway
