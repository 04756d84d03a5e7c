// Recorded answers of upstream's engines (JSON lines, gzip) as test input. They lie outside the repository:
// ${FLEETADM_SHARED}, else ../shared beside the source tree.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm::test {

/// The folder of shared test data, or nullopt where there is none.
std::optional<std::string> shared_folder();

/// Whether CI=true: what is missing then is a failure, not a skip.
bool in_ci();

/// Calls `line` with each parsed line of <shared>/vectors/<name>. kNotFound where the folder or file is absent.
Status for_each_vector(std::string_view name, const std::function<void(const Json&)>& line);
/// The same, and the line's own text (numbers as they were written).
Status for_each_vector(std::string_view name, const std::function<void(const Json&, const std::string& text)>& line);

}  // namespace fleetadm::test
