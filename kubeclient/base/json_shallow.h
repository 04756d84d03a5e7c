// Reads what another program may have nested deeper than this one can take: who it is, and that something is missing.
#pragma once

#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm {

struct ShallowJson {
  Json value;        // null stands where something was left out
  bool cut = false;  // other than in the managedFields of an object or of a watch event's object
};

/// As parse_json(), which refuses deep texts; here, what is nested in more than `depth` (at most kMaxJsonDepth) containers is
/// left out.
Result<ShallowJson> parse_json_shallow(std::string_view text, int depth);

}  // namespace fleetadm
