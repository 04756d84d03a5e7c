// What upgrade hub and upgrade agent share: the version that is asked for, the plan, and its execution on one cluster.
#pragma once

#include <functional>
#include <string>
#include <string_view>
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
/// With the tag that the options name, of the installed image.
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

/// A part of fleetadm on a cluster.
struct UpgradePart {
  std::string component;  // "hub"
  std::string_view part;  // of install::kPartLabel
  std::string_view ns;
  std::string_view deployment;  // whose image is that of all
  std::string absent_hint;      // what to do where it is not installed
  /// All objects of this version, for what is installed.
  std::function<Result<std::vector<Json>>(const upgrade::Installed& installed, const std::string& image,
                                          std::string_view manager)>
      intent;
  bool in_ns_only = false;  // another one of the same kind may be in another namespace
};

/// Reads what is installed, and says what is to become of it. kNotFound where the part is not installed; kConflict where Helm has
/// installed it.
Result<Upgrade> begin_upgrade(const kube::Client& cluster, const UpgradeOptions& options, const UpgradePart& part);

/// What came of it, and whether something was changed (then it may be waited for).
struct Upgraded {
  Report report;
  bool changed = false;
};

/// Answers --plan; else shows the plan, asks (unless told yes, or in a dry run), and applies it.
Result<Upgraded> run_upgrade(Context& context, const kube::Client& cluster, const UpgradeOptions& options, const Upgrade& upgrade,
                             Duration timeout);

/// Waits for the Deployments, one after the other, with progress. `what`: "the agent"
Status wait_upgraded(Context& context, const kube::Client& cluster, const std::string& what, std::string_view ns,
                     const std::vector<std::string_view>& deployments, Duration timeout);

}  // namespace fleetadm::commands
