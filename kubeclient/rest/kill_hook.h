// The kill tests' lever: ends the process after its k-th write, as a crash would.
#pragma once

#include "kubeclient/rest/client.h"

namespace fleetadm::kube {

/// With FLEETADM_EXIT_AFTER_WRITES=k (k > 0) in the environment, the process ends with _exit(137) right after the server answered
/// its k-th mutating request, counted over all gates of the process. Otherwise the gate stays as it is. A hook that
/// `gate.after` already has is called first.
void install_kill_hook(WriteGate& gate);

}  // namespace fleetadm::kube
