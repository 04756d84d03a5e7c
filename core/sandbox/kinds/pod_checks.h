// What a pod has to be like, alone or in a workload's template, in the words of Kubernetes' validation; and what its admission
// fills in. Volumes' own members, affinity and security contexts are taken as they are.
#pragma once

#include "core/sandbox/engine/engine.h"

namespace fleetadm::sandbox {

/// Of a pod's spec that stands at `path` ("spec", "spec.template.spec").
std::vector<Cause> pod_spec_problems(const Json& spec, const std::string& path);

/// Of the ephemeral containers that the subresource gives to a pod: those that it has stay as they are, and none may do what pods
/// are relied upon for.
std::vector<Cause> ephemeral_container_problems(const Json& pod, const Json& old);

/// A new pod's priority and the tolerations that every pod has. 403 where its priority class does not exist, or
/// where it names a priority that its class does not have.
ApiStatus complete_pod(const StrategyContext& context, Json& pod);

}  // namespace fleetadm::sandbox
