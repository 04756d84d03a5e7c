// proxy kubectl -i: line after line, each one run by kubectl.
#pragma once

#include <string>

#include "commands/framework/context.h"
#include "commands/proxy/child.h"

namespace fleetadm::commands {

/// Until "exit", "quit" or the end of the input. `kubectl` is as it is to be run, without arguments. The answer is the exit code
/// of the last line. At a terminal there is a prompt, history, and kubectl's own completion; without one, lines are a script.
Result<int> run_kubectl_lines(Context& context, const Child& kubectl, const std::string& cluster);

}  // namespace fleetadm::commands
