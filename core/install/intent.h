// Whether a server-side apply would change an object, judged without asking the server (a client-side dry run sends no write).
#pragma once

#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm::install {

/// True where `live` lacks something of `intent`, or where `manager` has applied a field before that `intent` no longer names
/// (the server would remove it). Defaults and other managers' fields in `live` do not count.
bool would_change(const Json& live, const Json& intent, std::string_view manager);

}  // namespace fleetadm::install
