// The program as a plugin of kubectl: `kubectl fleetadm …` runs kubectl-fleetadm, and for completions kubectl_complete-fleetadm.
// Both are other names of this binary.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::cli {

enum class CalledAs { kProgram, kKubectlPlugin, kKubectlCompletion };

/// By main's argv[0]. kubectl gives the plugin's whole path.
CalledAs called_as(std::string_view program);

/// Each "fleetadm COMMAND" as it is typed: "kubectl fleetadm COMMAND". What is not a command of the registry is prose.
std::string with_kubectl(std::string text, const commands::Registry& registry);

/// A completion (cli/complete.h) in the form that kubectl reads: a directive of flags at the end.
std::string completion_for_kubectl(const std::string& completion);

}  // namespace fleetadm::cli
