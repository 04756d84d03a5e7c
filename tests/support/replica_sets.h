// A hub in memory with sets: placements that have decided, and agents that report.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/fake_api.h"

namespace fleetadm::testkit {

/// One group of a placement's decisions.
struct DecidedGroup {
  std::string name;  // of the decision group; may be empty
  std::vector<std::string> clusters;
};

/// Puts the PlacementDecision of one group, and leaves the placement's status as it is.
void put_decision(FakeApi& hub, const std::string& ns, const std::string& name, std::size_t index, const DecidedGroup& group);
/// Puts the placement NS/NAME with its decisions, one PlacementDecision a group.
void put_decided(FakeApi& hub, const std::string& ns, const std::string& name, const std::vector<DecidedGroup>& groups);

/// What the agent of a cluster reports as Applied and Available ("True", "False"); none: it says nothing.
using AgentSays = std::function<std::optional<std::string>(const std::string& cluster)>;
/// Every agent reports, for the present generation, where it has not yet. With the manifests, `message` saying why it is not
/// True.
void report_as_agents(FakeApi& hub, const AgentSays& says, const std::string& message = "no such type");

}  // namespace fleetadm::testkit
