// Which Kubernetes versions fleetadm supports as hubs and managed clusters.
#pragma once

#include <string>

#include "kubeclient/discovery/mapper.h"

namespace fleetadm::install {

enum class Support { kSupported, kTooOld, kNewerThanTested, kUnknown };

Support support_of(const kube::ServerVersion& version);
/// "1.30 to 1.35"
std::string supported_range();

}  // namespace fleetadm::install
