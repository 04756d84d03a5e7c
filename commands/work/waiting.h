// Waits for works until they are as asked for: watches tell when to look, and nothing is called done that a later read does not
// show.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/context.h"
#include "commands/framework/missing.h"
#include "commands/framework/targets.h"

namespace fleetadm::commands {

/// Why a work is not yet `condition` ("applied", "available", "ready") at its current generation; empty: it
/// is. An agent that does not report readiness is not waited for beyond "available".
std::string blocking(const Json& work, const std::string& condition);

/// Waits for the works `name` of these clusters; notes in the report which of them do not report readiness. The failures name the
/// clusters that are behind and why.
std::vector<Error> wait_for_works(Context& context, const kube::Client& hub, const std::string& name,
                                  const std::vector<std::string>& clusters, const std::string& condition, Duration timeout,
                                  Report& report);

/// Waits until every cluster that the placement has decided on has the set's work with the set's manifests, `condition`.
std::vector<Error> wait_for_set(Context& context, const kube::Client& hub, const PlacementRef& placement, const std::string& name,
                                const std::string& condition, Duration timeout, Report& report);

/// Waits until the works (or the set's) are gone.
std::vector<Error> wait_until_gone(Context& context, const kube::Client& hub, const std::string& name,
                                   const std::vector<std::string>& clusters, Duration timeout);
Status wait_until_set_is_gone(Context& context, const kube::Client& hub, const std::string& ns, const std::string& name,
                              Duration timeout);

}  // namespace fleetadm::commands
