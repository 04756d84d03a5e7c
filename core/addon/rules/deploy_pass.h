// One pass over one add-on of one cluster: its works, pre-delete hooks, finalizers and conditions
// (docs/reference/addon.md#works).
#pragma once

#include <string_view>

#include "core/addon/rules/agent_description.h"
#include "core/addon/rules/deploy_works.h"
#include "core/addon/rules/pass.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

/// Nothing where the add-on or its cluster does not exist, or RegistrationApplied was never written.
/// kStrict differs in this: an add-on that renders nothing any more loses its works; finalizers are never added to what is being
/// deleted; an add-on that is not configured yet keeps its hook finalizer, so that the hook runs; new works never take the name
/// of an existing one, and none is larger than a work may be; hosted works are under deletion before their finalizer goes, and
/// none stay on a cluster that hosts the add-on no more; what is judged available are the works of both clusters, in one order.
Pass deploy_pass(const ObjectReader& objects, std::string_view addon, std::string_view cluster, const AgentDescription& agent,
                 Instant now, rollout::Semantics conduct);

}  // namespace fleetadm::addon
