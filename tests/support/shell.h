// A line of the shell, for suites that pipe and redirect.
#pragma once

#include <string>

#include "tests/support/fleet.h"

namespace fleetadm::testkit {

/// Runs `sh -c` and waits for it. stderr is taken by way of the file, and stdin is empty.
Ran run_shell(const std::string& line, const std::string& err_file);

}  // namespace fleetadm::testkit
