// Tables and partial metadata (docs/reference/kubernetes-api.md#tables).
#pragma once

#include <string>
#include <vector>

#include "core/sandbox/model/error.h"
#include "core/sandbox/model/kind.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::sandbox {

/// `include_object`: Metadata (also ""), Object, None.
ApiResult<Json> make_table(const Kind& kind, std::vector<Json> objects, const Json& list_metadata,
                           const std::string& include_object, const std::string& version, Instant now);
Json partial_metadata(const Json& object, const std::string& version);

}  // namespace fleetadm::sandbox
