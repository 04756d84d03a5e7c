// What a roll-out has decided of one add-on's configuration, and the add-on with it. Decided once for all add-ons of a
// declaration, written by the pass over each one.
#pragma once

#include <optional>
#include <string>

#include "core/addon/rules/config_reference.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

struct ConfigDecision {
  /// What it is to have from now on; nullopt: the references stay as they are.
  std::optional<DesiredConfigs> desired;
  /// Why it is not configured; empty: it is.
  std::string problem;

  bool operator==(const ConfigDecision&) const = default;
};

/// Sets status.configReferences and Configured. kStrict: with new references the condition begins anew, also where its status
/// stays: deadlines count from there.
void configure(Json& addon, const ConfigDecision& decision, Instant now, rollout::Semantics conduct);

}  // namespace fleetadm::addon
