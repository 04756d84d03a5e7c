// What upgrade hub and upgrade agent share: the version that is asked for, the plan, and its execution on one cluster.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/command.h"
#include "core/upgrade/installed.h"
#include "core/upgrade/plan.h"

namespace fleetadm::commands {

struct UpgradeOptions {
  std::string image;
  std::string to;
  bool plan = false;
  bool yes = false;
};

void bind_upgrade(FlagSet& flags, UpgradeOptions& options, const std::string& what);
Status validate_upgrade(const UpgradeOptions& options);

/// What is to run.
struct UpgradeTarget {
  std::string image;
  std::string version;  // empty: the image does not tell
  /// The version is this program's own, which brings its objects along; of another version only the image is known.
  bool whole = true;
  bool named = false;  // with --image: what runs has to come from there
};
Result<UpgradeTarget> upgrade_target(const UpgradeOptions& options, const std::string& installed_image);

/// An upgrade of what is installed on one cluster.
struct Upgrade {
  std::string component;  // "hub"
  std::string part;       // of install::kPartLabel
  upgrade::Installed installed;
  std::string image;  // that runs
  UpgradeTarget target;
  std::vector<Json> intent;
  Json more = Json::object();      // further members of the report
  std::vector<std::string> facts;  // and what they say in words
};

/// kNotFound with a hint where the Deployment is not among what is installed; kConflict where Helm has installed it.
Status check_upgradable(const upgrade::Installed& installed, std::string_view ns, std::string_view deployment,
                        const std::string& component, const std::string& hint);

/// "hub: v0.1.0 to v0.2.0": from and to, by version where both tell one, else by image.
std::string upgrade_sentence(const Upgrade& upgrade);

/// What came of it, and whether something was changed (then it may be waited for).
struct Upgraded {
  Report report;
  bool changed = false;
};

/// Answers --plan; else shows the plan, asks (unless told yes, or in a dry run), and applies it.
Result<Upgraded> run_upgrade(Context& context, const kube::Client& cluster, const UpgradeOptions& options, const Upgrade& upgrade,
                             Duration timeout);

}  // namespace fleetadm::commands
