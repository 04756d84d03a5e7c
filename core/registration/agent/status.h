// What an agent reports about its cluster, as a pure function of what it saw (docs/reference/registration.md#status): joined,
// available, its own Deployment, version and resources, claims, managed namespaces, in this order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/registration/agent/claims.h"
#include "core/registration/agent/holds.h"
#include "core/registration/agent/namespaces.h"
#include "core/registration/agent/own_health.h"
#include "core/registration/agent/resources.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"
#include "kubeclient/rest/client.h"
#include "kubeclient/watch/mutation_cache.h"

namespace fleetadm::registration::agent {

/// The spoke's API server as last probed.
struct Probe {
  enum class State {
    kUp,
    kUnsure,  // failing, but not for long enough to say so
    kDown,
  };
  State state = State::kUp;
  int code = 0;         // HTTP status of the last answer, 0 where there was none
  std::string message;  // what the last failure said
};

/// GET /livez, and /healthz where /livez is unknown or forbidden. One attempt; kUp or kDown.
Probe probe_once(const kube::Client& spoke);

/// Turns single probes into a verdict: down only after failures for as long as the hold says, and up again likewise.
class ProbeJudge {
 public:
  Probe judge(Probe once, const Holds& holds, Instant now);
  static constexpr Duration kRetry = std::chrono::seconds(5);
  /// Where the cluster says nothing else: OCM's.
  static constexpr Holds kUsual{std::chrono::seconds(20), std::chrono::seconds(0)};

 private:
  bool down_ = false;             // by the last verdict
  std::optional<Instant> since_;  // of what differs from that verdict
};

/// Everything that one round saw. What is not known is left out, and then stays as it was reported.
struct ClusterObservation {
  Probe probe;
  std::string version;
  std::optional<Totals> totals;
  std::optional<std::vector<Claim>> claims;
  std::optional<std::vector<NamespaceFailure>> namespace_failures;
  std::optional<OwnHealth> own;
};

/// The hub accepted the cluster.
bool is_accepted(const Json& managed_cluster);
/// The hub found our clock to be off: nothing may be reported until it is not.
bool is_clock_off(const Json& managed_cluster);

/// The status that the ManagedCluster should have.
Json wanted_status(const Json& managed_cluster, const ClusterObservation& seen, Instant now);

/// Writes the ManagedCluster's status where it differs, with no other fields than those as precondition (kube::patch_fields): the
/// hub's controllers write to the same object. True: it was written, and noted in `written`.
Result<bool> write_status(const kube::Client& hub, const Json& managed_cluster, const Json& wanted, kube::MutationCache& written);

}  // namespace fleetadm::registration::agent
