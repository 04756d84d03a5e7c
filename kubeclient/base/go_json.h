// JSON as Go's encoding/json writes it, where the text itself counts: what is hashed, shown or compared as text.
#pragma once

#include <string>

#include "kubeclient/base/json.h"

namespace fleetadm {

/// dump_json() with the characters escaped that are special in HTML and JavaScript: <, >, & and U+2028/9.
std::string dump_go_json(const Json& value);

}  // namespace fleetadm
