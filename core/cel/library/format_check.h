// What a literal format text with a literal list can be told at compile time (cel-go's string_format validator).
#pragma once

#include <vector>

#include "core/cel/ast.h"
#include "core/cel/env.h"

namespace fleetadm::cel {

/// The mistakes of a checked node where it is such a call of format.
void check_format(const Expr& node, std::vector<Issue>& issues);

}  // namespace fleetadm::cel
