// What a hub's audit log tells of the roll-out of one add-on: every instant between two writes, in the order in which the server
// stored them, held against the strategy.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {

struct AddonLimits {
  std::string addon;
  std::string wanted;                         // the name of the configuration that is rolled out, or its hash
  std::vector<std::set<std::string>> stages;  // the clusters of each must be through before one of the next begins
  bool by_group = false;                      // every stage is begun as a whole; else only the first
  std::size_t concurrency = 1;                // of the other stages
  std::optional<Duration> deadline;           // then a cluster holds nobody up any more, and has failed
  std::size_t failures = 0;                   // so many may; in the first stage none
  Duration soak = Duration::zero();           // minSuccessTime
};

struct AddonCourse {
  std::vector<std::string> order;  // clusters as they were begun
  std::set<std::string> done;
  std::size_t most_at_once = 0;
  std::vector<std::string> breaches;  // one sentence for each instant at which a limit did not hold
};

/// A cluster begins once the configuration is among its add-on's desired ones, and is done once it is the applied one, too.
/// Its works may have it between the two and from then on, never before.
AddonCourse addon_course(const std::vector<AuditEntry>& log, const AddonLimits& limits);

}  // namespace fleetadm::testkit
