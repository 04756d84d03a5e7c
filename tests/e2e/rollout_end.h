// How a rollout ended, in a form in which two rollouts of different values can be compared.
#pragma once

#include <string>

#include "tests/e2e/rollout_fleet.h"

namespace fleetadm::testkit {

/// Indented JSON: the set's conditions and counts, its works as they are and were reported, its newest revision and how it
/// follows the one before, and the ConfigMaps on the spokes. Times, versions, uids and numbers of revisions are left out; `value`
/// and `former` are written as VALUE and FORMER.
std::string end_of_rollout(RolloutFleet& fleet, const std::string& set, const std::string& value, const std::string& former);

}  // namespace fleetadm::testkit
