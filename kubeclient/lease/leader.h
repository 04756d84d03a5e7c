// Leader election on a coordination.k8s.io Lease (reference kubernetes-wire.md B.24).
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "kubeclient/rest/client.h"

namespace fleetadm::kube {

struct LeaderOptions {
  std::string ns;
  std::string name;
  std::string identity;
  Duration lease = std::chrono::seconds(137);
  Duration renew_deadline = std::chrono::seconds(107);
  Duration retry = std::chrono::seconds(26);
};

/// Blocks until this process leads, runs `lead` with a stop token that is set when leadership is lost or `stop` is set, and
/// releases the lease when `lead` returns in time. Losing the lease is Category::kUnavailable: the caller ends the process.
Status run_as_leader(const Client& client, const LeaderOptions& options, const std::function<Status(std::stop_token)>& lead,
                     std::stop_token stop);

}  // namespace fleetadm::kube
