// SIGINT and SIGTERM as a stop token. A second signal ends the process at once (exit code 2: cancelled), unless it comes
// within 300 ms of the first: wrappers such as timeout(1) signal a process and then its group.
#pragma once

#include <stop_token>

namespace fleetadm::cli {

/// Installs the handlers and one waiting thread on the first call; later calls return the same token.
std::stop_token stop_on_signals();

/// Sets that token as a first signal would: there is no use in going on (the reader of the output is gone).
void stop_by_ourselves();

}  // namespace fleetadm::cli
