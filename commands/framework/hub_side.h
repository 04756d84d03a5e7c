// The hub of a command whose own connection leads to a managed cluster.
#pragma once

#include <optional>
#include <string>

#include "commands/framework/command.h"

namespace fleetadm::commands {

struct HubSide {
  std::string context;
  std::string kubeconfig;

  bool named() const { return !context.empty() || !kubeconfig.empty(); }
};

/// --hub-context and --hub-kubeconfig; `purpose` follows "Context of the hub".
void bind_hub_side(FlagSet& flags, HubSide& side, const std::string& purpose);

/// The connection to it; nullopt where neither flag was given.
Result<std::optional<kube::RestConfig>> hub_side(Context& context, const HubSide& side);

}  // namespace fleetadm::commands
