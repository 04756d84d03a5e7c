// What the describe commands share: lines of a name and a text, and conditions.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::commands {

/// "Name:             text": the text begins in column `width`, or one space behind a longer name.
std::string described(std::string_view name, std::string_view text, std::size_t width = 18);

/// One entry of each condition: {"type", "status", "reason", "message", "since"}.
Json told_conditions(const Json& conditions);

/// Of such an entry: "Available is False since 5m: Reason, message".
std::string condition_text(const Json& told, Instant now);

}  // namespace fleetadm::commands
