// The guard on removals by the commands that write works themselves: up to a share of the clusters, and up to a number of
// objects, nothing is asked; beyond that, the rule of guard.h holds.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "commands/framework/guard.h"
#include "core/work/plan/removals.h"

namespace fleetadm::commands {

struct WorkGuardOptions {
  GuardOptions guard;
  std::int64_t share = 20;     // percent of the clusters
  std::int64_t objects = 100;  // on all clusters together
};

void bind_work_guard(FlagSet& flags, WorkGuardOptions& options);
Status validate_work_guard(const WorkGuardOptions& options);

/// Why the removals are more than the limits permit: "deleting work web would remove works from 2 of 3 clusters (limit …)"; empty
/// where they are not. One cluster is never too large a share. The hub is asked how many clusters it has only where it matters;
/// where that cannot be read, any share is too large.
std::string excess_of(const kube::Client& hub, const WorkGuardOptions& options, const std::string& what,
                      const work::Removals& removals);

/// allow_removals() for what exceeds the limits; in a dry run a note in `notes`.
Status check_removals(Context& context, const kube::Client& hub, const WorkGuardOptions& options, const std::string& what,
                      const work::Removals& removals, std::vector<std::string>& notes);

/// What --plan prints for a work (of a placement: "namespace/name").
Result<Report> removal_plan(const kube::Client& hub, const std::string& what, const std::string& work,
                            const work::Removals& removals);

}  // namespace fleetadm::commands
