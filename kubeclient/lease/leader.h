// Leader election on a coordination.k8s.io Lease (docs/reference/kubernetes-api.md#leases).
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "kubeclient/rest/client.h"

namespace fleetadm::kube {

/// A leader that is lost with its node is followed after its lease, the time that a standby takes to see its last renewal, and
/// one more retry (each up to 1.2 retry periods): within 17 s.
struct LeaderTiming {
  Duration lease = std::chrono::seconds(12);
  Duration renew_deadline = std::chrono::seconds(8);
  Duration retry = std::chrono::seconds(2);
};
/// kUsage where a leader could go on past its lease: lease > renew deadline > retry period > 0 is needed.
Status check_timing(const LeaderTiming& timing);

struct LeaderOptions {
  std::string ns;
  std::string name;
  std::string identity;
  LeaderTiming timing;
};

/// Blocks until this process leads, runs `lead` with a stop token that is set when leadership is lost or `stop` is set, and
/// releases the lease when `lead` returns in time. Losing the lease is Category::kUnavailable: the caller ends the process.
Status run_as_leader(const Client& client, const LeaderOptions& options, const std::function<Status(std::stop_token)>& lead,
                     std::stop_token stop);

}  // namespace fleetadm::kube
