// What upstream's programs wrote in a recording (tests/data/README.md) beside what ours write on the servers of a test.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {

struct TracedWrite {
  std::string
      what;   // "hub registration create /apis/…": who did what to which object, names that differ from run to run replaced
  Json body;  // of creates
  std::string step;  // of a recording
  Json after;        // in a recording: the object after its last write in a step
};

Result<std::vector<TracedWrite>> recorded_writes(std::string_view file);
/// Those of our hub ("registration") and agents ("agent", "bootstrap") that were not refused, since a position of the audit log.
/// Left out is what stores nothing (reviews), and the lease of the hub's replicas: leader election, which the recorded programs
/// had switched off.
std::vector<TracedWrite> our_writes(const KubeServer& server, const std::string& side, std::uintmax_t from);
/// Who of ours made a request; empty: somebody else.
std::string our_actor(const AuditEntry& entry);
std::set<std::string> what_was_written(const std::vector<TracedWrite>& writes);
/// A repeated event becomes a series (a patch) instead of another object; whether one repeats is a matter of time.
bool is_event_series(const std::string& what);

/// The parts of a created object that carry its meaning: lists whose order means nothing are sorted.
Json meaning_of(const Json& object);

}  // namespace fleetadm::testkit
