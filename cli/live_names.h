// Names that completion offers from a hub, a kubeconfig or this machine, within the patience of somebody who types.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "commands/framework/command.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::cli {

struct LiveName {
  std::string name;
  std::string description;  // state and age: "available, 3d"; may be empty
  bool operator==(const LiveName&) const = default;
};

/// The names of a kind, from what `globals` selects. Errors and time-outs are an empty list, and nothing is told of them: a line
/// that is being typed is no place for it. It takes 300 ms at most, whatever a name server, a hub or a credential plugin does.
std::vector<LiveName> live_names(commands::Complete kind, const commands::GlobalOptions& globals);

/// The names in a server's answer to a list of the kind: a Table, or a List of objects.
std::vector<LiveName> names_of_answer(commands::Complete kind, const Json& answer, Instant now);

/// The contexts of a kubeconfig document.
std::vector<LiveName> names_of_contexts(const Json& kubeconfig);

/// What `work` answers; empty where that takes longer than `limit`. It runs in a process of its own, which then is killed with
/// all that it started: a resolver or a file system that hangs cannot be interrupted otherwise.
std::string answer_within(std::chrono::milliseconds limit, const std::function<std::string()>& work);

}  // namespace fleetadm::cli
