// What the checks of updates share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/sandbox/model/error.h"

namespace fleetadm::sandbox {

using Problems = std::vector<Cause>;
inline constexpr std::string_view kImmutable = "field is immutable";

Json value_or_null(const Json& object, Path path);
/// The member as `from` has it, or its absence.
void take_member(const Json& from, Json& to, Path path);
/// The members that differ, one a line, as a person reads it. (Kubernetes' own listing is of its internal types.)
std::string changed_members(const Json& before, const Json& after);

Problems pod_update(const Json& pod, const Json& old);

}  // namespace fleetadm::sandbox
