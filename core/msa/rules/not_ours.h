// The error of an object that has the name we need and is somebody else's.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm::msa {

/// Its reason.
inline constexpr std::string_view kNotOurs = "NotOurs";

/// kConflict.
Error not_ours(std::string message, std::string hint);

}  // namespace fleetadm::msa
