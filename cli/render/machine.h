// The documents that programs read (docs/machine-output.md).
#pragma once

#include <string>

#include "commands/framework/report.h"
#include "kubeclient/base/json.h"

namespace fleetadm::cli {

/// The version of the kinds that are fleetadm's own.
inline constexpr std::string_view kOwnApiVersion = "fleetadm.io/v1alpha1";

/// Whether a document is of a kind of fleetadm's own: commands leave out its version.
bool is_own_kind(const Json& document);
/// Gives a document of a kind of our own its version, and its items (where they have a kind).
void add_api_version(Json& document);

/// {"type": "ADDED", "object": …}: one line of a watch.
Json watch_event(commands::Report::Event event, Json object);
/// "ADDED", "MODIFIED", "DELETED".
std::string_view to_string(commands::Report::Event event);

}  // namespace fleetadm::cli
