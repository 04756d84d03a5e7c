// What Kubernetes' own kinds have to be like besides their metadata, in the words of its validation: configuration, services,
// ingresses, disruption budgets, autoscalers, the strategies and selectors of workloads, claims and classes of storage. (Pods
// and their templates: kinds/pod_checks.h, kinds/workload_rules.cc; roles: auth/rbac_rules.cc.) Pure.
#pragma once

#include <vector>

#include "core/sandbox/model/error.h"
#include "core/sandbox/model/kind.h"

namespace fleetadm::sandbox {

/// `object` has its defaults. Nothing is wrong with kinds that are not known here.
std::vector<Cause> object_problems(const Kind& kind, const Json& object);

}  // namespace fleetadm::sandbox
