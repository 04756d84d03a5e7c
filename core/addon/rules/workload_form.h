// Deployments and DaemonSets as typed objects: what upstream's clients make of them when they read and write them.
#pragma once

#include <optional>
#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm::addon {

enum class WorkloadKind { kDeployment, kDaemonSet };

/// Of group apps, in any version; nullopt for every other kind.
std::optional<WorkloadKind> workload_kind(const Json& manifest);

/// The object as Go's types hold it: unknown fields, nulls and empty optional fields are gone, quantities are canonical, and what
/// has no omitempty is there ("status": {}). kInvalid where it does not fit the type.
Status to_typed_form(Json& workload, WorkloadKind kind);
/// It fits the type of its kind.
bool fits_type(const Json& workload, WorkloadKind kind);

}  // namespace fleetadm::addon
