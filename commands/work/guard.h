// The guard on removals: works leave more than a share of the clusters, or more than a number of objects are deleted, only with
// --allow-removals.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "commands/framework/command.h"

namespace fleetadm::commands {

struct GuardOptions {
  bool allow = false;
  std::int64_t share = 20;     // per cent of the clusters
  std::int64_t objects = 100;  // on all clusters together
};

void bind_guard(FlagSet& flags, GuardOptions& options);
Status validate_guard(const GuardOptions& options);

/// What a change would take away.
struct Removals {
  std::set<std::string> clusters;  // that lose the work
  std::int64_t objects = 0;        // that the agents would delete, over all clusters
  std::int64_t of = 0;             // clusters that the share is of; 0: the hub's
};

/// kConflict, reason "RemovalsNotAllowed", where that is too much. One cluster is never too large a share. The hub is asked how
/// many clusters it has only where it matters; where that cannot be read, any share is too large.
Status check_removals(const kube::Client& hub, const GuardOptions& options, const std::string& what, const Removals& removals);

/// How many objects go when a work goes, or (with `kept`: their manifest_identity()) when it keeps only these.
std::int64_t deleted_objects(const Json& work_spec, const std::set<std::string>& kept = {});

}  // namespace fleetadm::commands
