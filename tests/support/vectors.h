// Recorded answers of other programs as test input: tests/data, JSON or JSON lines in gzip.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm::test {

/// Calls `line` with each parsed line of tests/data/<name>. An error where the file is absent, broken or empty.
Status for_each_vector(std::string_view name, const std::function<void(const Json&)>& line);
/// The same, and the line's own text (numbers as they were written).
Status for_each_vector(std::string_view name, const std::function<void(const Json&, const std::string& text)>& line);

/// The JSON document tests/data/<name>.
Result<Json> read_recorded(std::string_view name);

}  // namespace fleetadm::test
