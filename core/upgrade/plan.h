// What an upgrade will do to what is installed, before it does anything.
#pragma once

#include <string>
#include <vector>

#include "core/install/install.h"
#include "core/upgrade/installed.h"

namespace fleetadm::upgrade {

struct CrdChange {
  std::string name;
  bool created = false;
  std::vector<std::string> added;    // versions that it is served or stored in from now on
  std::vector<std::string> dropped;  // and no longer
};

struct Plan {
  std::vector<install::Change> changes;  // of the intended objects, in their order; with those that stay as they are
  std::vector<Json> retired;             // installed objects that the version does not have any more
  std::vector<CrdChange> crds;

  bool empty() const;  // nothing will change
};

/// Reads only. `whole`: `intent` is everything that is installed, so that what is missing in it is retired. kConflict: a
/// definition would lose a version that objects may be stored in.
Result<Plan> make_plan(const kube::Client& cluster, const Installed& installed, const std::vector<Json>& intent,
                       const install::Options& options, bool whole);

/// Deletes what the plan retires, by uid.
Result<std::vector<install::Change>> remove_retired(const kube::Client& cluster, const Plan& plan);

}  // namespace fleetadm::upgrade
