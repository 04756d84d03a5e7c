// The guards in front of addon create --overwrite, which changes what clusters have: add-ons that would go, objects that would be
// deleted, and how many clusters would change at once.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/addon_change.h"

namespace fleetadm::commands {

/// --allow-removals, --allow-many and --yes.
void bind_overwrite_guard(FlagSet& flags, AddonGuardOptions& options);

/// A declaration as it is and as it is to be, and the template that it is to name.
struct Overwrite {
  Json before;
  Json after;
  Json addon_template;
};
Status guard_overwrite(Context& context, const kube::Client& hub, const AddonGuardOptions& options, const Overwrite& change,
                       std::vector<std::string>& notes);

}  // namespace fleetadm::commands
