// How long a cluster has to be as it is seen before that is told (docs/reference/registration.md#status).
#pragma once

#include <string_view>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::registration::agent {

struct Holds {
  Duration failure = std::chrono::seconds(30);
  Duration success = std::chrono::seconds(30);
};
/// Those of the cluster's annotations, where it has any that are durations, else `usual`.
Holds holds_of(const Json& cluster, const Holds& usual);
inline constexpr std::string_view kFailureHoldAnnotation = "fleetadm.io/failure-hold";
inline constexpr std::string_view kSuccessHoldAnnotation = "fleetadm.io/success-hold";

}  // namespace fleetadm::registration::agent
