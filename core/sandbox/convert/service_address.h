// Where a service's backends listen. A sandbox has no cluster network: what its EndpointSlices (or Endpoints) name is called
// directly.
#pragma once

#include <string>

#include "core/sandbox/store/store.h"

namespace fleetadm::sandbox::convert {

/// "127.0.0.1:8443", "[::1]:8443", "example.com:443" (of an ExternalName); else why there is none, in Kubernetes' words. `port`
/// is the service's.
Result<std::string> service_address(const Store& store, const std::string& ns, const std::string& name, int port);

}  // namespace fleetadm::sandbox::convert
