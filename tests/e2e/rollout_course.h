// What a hub's audit log tells of one rollout: every instant between two writes of its works, in the order in which the server
// stored them, held against the limits.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {

/// A rollout as its works show it: their first manifest is a ConfigMap whose data.v is the value that is rolled out.
struct RolloutLimits {
  std::string set;  // "<namespace>.<name>"
  std::string value;
  std::size_t concurrency = 1;
  std::size_t failures = 0;
  std::string canary;  // must have succeeded before any other cluster begins; empty: none
  std::string hub;     // the user that writes for it
};

struct RolloutCourse {
  std::vector<std::string> order;  // clusters as they were begun, each as often as it was
  std::size_t most_at_once = 0;
  std::vector<std::string> breaches;  // one sentence for each instant at which a limit did not hold
};

/// Where a work stands by its own conditions, as its rollout has to judge it.
enum class WorkStanding { kUnderWay, kSucceeded, kFailed };
WorkStanding standing_of(const Json& work);
/// data.v of its first manifest.
std::string value_of_work(const Json& work);
/// Whose work it is: "<namespace>.<name>" of its ManifestWorkReplicaSet; empty: nobody's.
std::string set_of_work(const Json& work);

/// Clusters that the hub begins at once (at most `concurrency` writes of works, with no other write of the hub between them) were
/// decided on together: what fails between two of them counts from the next one on. Deletions are left aside: no case has any.
RolloutCourse rollout_course(const std::vector<AuditEntry>& log, const RolloutLimits& limits);

}  // namespace fleetadm::testkit
