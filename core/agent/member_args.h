// Arguments of `agent run` for one hosted member alone, from its Secret (core/api/hosted_member.h).
#pragma once

#include <string_view>

#include "core/agent/agent.h"

namespace fleetadm::agent {

/// Sets what `json`, a list of "--flag=value", says; an empty text says nothing. kInvalid names the argument.
Status apply_member_args(std::string_view json, AgentOptions& options);

}  // namespace fleetadm::agent
