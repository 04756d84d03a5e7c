// A cluster that the hub has accepted.
#pragma once

#include <cstdint>

#include "kubeclient/base/json.h"

namespace fleetadm::registration::agent {

inline Json accepted(std::int64_t lease_seconds = 60) {
  return {{"metadata", {{"name", "c1"}}},
          {"spec", {{"hubAcceptsClient", true}, {"leaseDurationSeconds", lease_seconds}}},
          {"status",
           {{"conditions",
             Json::array({{{"type", "HubAcceptedManagedCluster"}, {"status", "True"}, {"reason", "x"}, {"message", ""}}})}}}};
}

}  // namespace fleetadm::registration::agent
