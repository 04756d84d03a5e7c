// The macros of the standard and of the optional library.
#pragma once

#include <vector>

#include "core/cel/ast.h"
#include "core/cel/library.h"

namespace fleetadm::cel {

std::vector<Macro> standard_macros();
std::vector<Macro> optional_macros();

}  // namespace fleetadm::cel
