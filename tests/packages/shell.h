// Shell lines of this suite.
#pragma once

#include <string>

#include "tests/support/fleet.h"

namespace fleetadm::packages_suite {

/// Runs a line in a folder, from which stderr is taken, too; killed after two minutes.
testkit::Ran shell(const testkit::TemporaryFolder& folder, const std::string& line);

/// A path below the source folder, quoted.
std::string script(const std::string& path);

}  // namespace fleetadm::packages_suite
