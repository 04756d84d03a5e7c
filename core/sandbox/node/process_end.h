// exec: a command that runs beside a container's process, with its environment, folder and mounts, until it ends or its session
// does.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/sandbox/node/containers.h"
#include "core/serve/streams/exec_target.h"
#include "kubeclient/base/result.h"

namespace fleetadm::sandbox {

/// Starts it; may block. `lives` says whether the container's process still does: the command ends with it. As containers have no
/// root folder of their own here, paths at or under their mounts are moved to the folders that stand for them, and "fleetadm" is
/// the program that the container runs. kNotFound where there is no such program.
Result<std::unique_ptr<serve::ExecTarget>> start_command(const ContainerPlace& place, const std::vector<std::string>& command,
                                                         const serve::ChannelsWanted& wanted, std::function<bool()> lives);

/// The file that a word of a command names: a path as it is, a name by the PATH of the environment. Empty where there is none.
std::string find_program(const std::string& word, const std::vector<std::string>& environment);

}  // namespace fleetadm::sandbox
