// A command line as a container runs it: local files that it names are mounted there, and tokens are in no argument. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::commands {

/// Where a container finds the files.
inline constexpr std::string_view kPodFiles = "/var/run/fleetadm/in-pod";

struct PodCommand {
  std::string path;                              // "get clusters"
  std::vector<std::string> args;                 // of the container, in which $(NAME) is a variable
  std::map<std::string, std::string> files;      // by name under kPodFiles: the local file, or "-"
  std::set<std::string> kubeconfigs;             // of these files
  std::map<std::string, std::string> variables;  // that args name, with what must not be in them
};

/// kUsage: a kubeconfig that leads to other files or programs, which the pod does not have. `path` is for the message.
Status stands_alone(const std::string& kubeconfig, const std::string& path);

/// kUsage: no command of `registry`, or one that cannot run in a pod.
Result<PodCommand> pod_command(const Registry& registry, const std::vector<std::string>& args);

}  // namespace fleetadm::commands
