// What a dry run is called, wherever an outcome is printed.
#pragma once

#include <string>

#include "commands/framework/context.h"

namespace fleetadm::commands {

inline bool is_dry(const Context& context) { return context.global().dry_run != kube::DryRun::kNone; }

/// To append to the line of an outcome: " (dry run)", " (server dry run)", or nothing.
inline std::string dry_run_mark(const Context& context) {
  switch (context.global().dry_run) {
    case kube::DryRun::kClient: return " (dry run)";
    case kube::DryRun::kServer: return " (server dry run)";
    case kube::DryRun::kNone: break;
  }
  return {};
}

/// kUsage where --dry-run is given: of commands that have nothing to tell beforehand.
inline Status refuse_dry_run(const Context& context, const std::string& command) {
  if (!is_dry(context)) return {};
  return fail(Category::kUsage, command + " does not support --dry-run", "remove --dry-run");
}

}  // namespace fleetadm::commands
