// Whether the works of an add-on have brought its configurations to the cluster (docs/reference/addon.md#progressing).
#pragma once

#include "core/addon/rules/object_reader.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::addon {

/// Sets the condition Progressing of a ManagedClusterAddOn whose declaration is managed; once its works are applied and available
/// with the desired configurations, these are the applied ones.
void judge_progress(Json& addon, const Json& declaration, const ObjectReader& objects, Instant now);

}  // namespace fleetadm::addon
