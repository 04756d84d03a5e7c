// Defaults and checks of the built-in kinds that clients depend on.
#pragma once

#include "core/sandbox/engine/engine.h"

namespace fleetadm::sandbox {

/// Namespaces, ConfigMaps, Secrets, service accounts, leases, services, workloads and pods.
void set_kind_strategies(Engine& engine);
Strategy secret_strategy();
/// Deployments, ReplicaSets, DaemonSets, StatefulSets, Jobs and CronJobs; a part of set_kind_strategies().
void set_workload_strategies(Engine& engine);
/// CertificateSigningRequests; the requester comes from the write's user.
Strategy csr_strategy();

}  // namespace fleetadm::sandbox
