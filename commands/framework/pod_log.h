// The log of a container, printed while it arrives.
#pragma once

#include <chrono>
#include <cstdint>

#include "commands/framework/context.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

enum class LogEnd {
  kWhole,     // the server has sent all of it
  kNoReader,  // of our standard output
};

/// Prints the answer to `request` (GET …/pods/NAME/log) but for its first `printed` bytes, which earlier calls have printed, and
/// counts those that it prints. At a terminal, control characters are escaped.
Result<LogEnd> print_pod_log(Context& context, const kube::Client& client, kube::Request request,
                             std::chrono::steady_clock::time_point deadline, std::uint64_t& printed);

}  // namespace fleetadm::commands
