// Gives every node of a tree its type and every call its overloads, or says what does not fit.
#pragma once

#include <vector>

#include "core/cel/ast.h"
#include "core/cel/env.h"

namespace fleetadm::cel {

/// Annotates `root` in place; the issues are empty where it checks. `declarations` must outlive the tree.
std::vector<Issue> check(Expr& root, const Env::Declarations& declarations);

}  // namespace fleetadm::cel
