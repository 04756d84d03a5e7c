// Removes from the spoke what works no longer want: by inventory, by owner, by uid (docs/reference/work.md#apply-loop,
// docs/reference/work.md#deletion-of-a-work).
#pragma once

#include <functional>
#include <vector>

#include "core/controller/parallel_runner.h"
#include "core/work/agent/object_watch.h"
#include "core/work/rules/ownership.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::work {

struct CleanupResult {
  std::vector<AppliedResource> remaining;  // still there (being deleted, or their deletion failed)
  std::optional<Error> error;              // the first failure
};

/// Deletes (Background, uid precondition) each resource that only `owner` owns, drops the owner's reference where another work
/// owns it too or is about to (`wanted_elsewhere`: hand-over between works; an error: it waits), leaves alone what is not owned.
/// A resource that could not be read stays in the result: unknown is not gone. `helpers`: they are removed side by side, and
/// `wanted_elsewhere` is called so. `watch`: what it knows is not read again, but deleted at the version it knows.
using WantedElsewhere = std::function<Result<bool>(const AppliedResource&)>;
CleanupResult remove_resources(const kube::Client& spoke, const std::vector<AppliedResource>& resources, const Owner& owner,
                               const WantedElsewhere& wanted_elsewhere, controller::ParallelRunner& helpers,
                               const ObjectWatch& watch);

}  // namespace fleetadm::work
