// Values as JSON that says their types, as the data files of these tests have them: {"int":"1"}, {"list":[…]},
// {"map":[[key,value],…]}.
#pragma once

#include <string>
#include <vector>

#include "core/cel/env.h"
#include "core/cel/value.h"
#include "kubeclient/base/json.h"

namespace fleetadm::cel::test {

/// Maps are sorted by key, so that equal values have equal JSON.
Json typed(const Value& value);
Value from_typed(const Json& json);
/// The lines of tests/data/<file>.
std::vector<Json> read_cases(const std::string& file);
/// An environment of cluster conditions: the standard, optional and upstream's own libraries, and the variable `object`.
const Env& environment();

}  // namespace fleetadm::cel::test
