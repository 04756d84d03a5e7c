// What a new cluster holds: namespaces, and the roles and bindings that clients expect
// (docs/reference/kubernetes-api.md#namespaces, docs/reference/kubernetes-access.md#rbac).
#pragma once

#include <string>

#include "core/sandbox/engine/engine.h"

namespace fleetadm::sandbox {

/// Creates what is missing; idempotent.
ApiStatus bootstrap_cluster(Engine& engine, const std::string& ca_pem);

}  // namespace fleetadm::sandbox
