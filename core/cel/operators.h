// The operators of the standard library: arithmetic, order, membership and logic.
#pragma once

#include <vector>

#include "core/cel/library.h"

namespace fleetadm::cel {

std::vector<Function> operator_functions();

}  // namespace fleetadm::cel
