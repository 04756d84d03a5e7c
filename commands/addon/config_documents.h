// The configurations of an add-on that a file has: applied to the hub, then referred to.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

/// Applies each document of the file (server-side) and returns the references to them: an array of {"group", "resource",
/// "namespace", "name"}, in the order of the file. A line for each is added to the report. A namespaced document without a
/// namespace is kUsage; a kind that the hub does not serve is kNotFound; nothing is written then.
Result<Json> apply_config_documents(Context& context, const kube::Client& hub, const std::string& file, Report& report);

}  // namespace fleetadm::commands
