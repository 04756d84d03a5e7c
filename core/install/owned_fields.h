// The fields of an object that a field manager has applied, as metadata.managedFields tells.
#pragma once

#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm::install {

/// What `manager` has last applied (server-side) of `live`: its intent, with apiVersion, kind and the name. Null: nothing.
Json applied_by(const Json& live, std::string_view manager);

/// Copies into `intent` what `manager` has applied below `path` of `live` and `intent` does not speak of there: a value where
/// both have one is that of `intent`. Elements of lists with keys are matched by these.
void keep_applied(Json& intent, const Json& live, std::string_view manager, std::initializer_list<std::string_view> path);

}  // namespace fleetadm::install
