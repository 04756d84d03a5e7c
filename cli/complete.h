// The hidden `__complete`: what may stand at the cursor.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/live_names.h"
#include "commands/framework/command.h"

namespace fleetadm::cli {

/// Answers live names: the kind, and the global options that the line has so far. Errors and time-outs are an empty list.
using LiveNames = std::function<std::vector<LiveName>(commands::Complete kind, const commands::GlobalOptions& globals)>;

/// `words` are those after the program's name, the last one being completed ("" after a space). Lines "value<tab>description",
/// then one of ":files", ":folders", ":nospace", ":none".
std::string complete(const commands::Registry& registry, const std::vector<std::string>& words, const LiveNames& live);

}  // namespace fleetadm::cli
