// The libraries that this binary runs with, as they say themselves.
#pragma once

#include "kubeclient/base/json.h"

namespace fleetadm::commands {

/// [{"name": "libcurl", "version": "7.88.1", "features": ["HTTP2", …]}, …], by name. `features` where a library can be built
/// with or without them.
Json library_versions();

}  // namespace fleetadm::commands
