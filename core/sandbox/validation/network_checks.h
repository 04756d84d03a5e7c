// What is wrong with services, ingresses and network policies, in the words of Kubernetes' validation. Pure.
#pragma once

#include <vector>

#include "core/sandbox/model/error.h"

namespace fleetadm::sandbox {

std::vector<Cause> service_problems(const Json& service);
std::vector<Cause> ingress_problems(const Json& ingress);
std::vector<Cause> network_policy_problems(const Json& policy);

}  // namespace fleetadm::sandbox
