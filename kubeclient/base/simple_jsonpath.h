// Kubernetes' JSONPath as feedback rules and printer columns use it: one path from the object's root, an item list out. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm {

/// The items that `path` (".status.conditions[?(@.type==\"Ready\")].status", without braces) selects. A missing key selects
/// nothing; an index out of bounds and bad syntax are errors (kInvalid). Fields, quoted and escaped keys, indexes (negative from
/// the end), slices, unions, wildcards, recursive descent and comparisons are understood.
Result<std::vector<Json>> select_json_path(std::string_view path, const Json& object);

}  // namespace fleetadm
