// Turns a checked tree into nodes that run: names become slots, calls their implementations, literal patterns are compiled.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/cel/ast.h"
#include "core/cel/env.h"
#include "core/cel/frame.h"

namespace fleetadm::cel {

struct Program::Plan {
  std::shared_ptr<const Env::Declarations> declarations;  // owns the overloads and constants
  NodePtr root;
  std::size_t slots = 0;
  Type type;
};

/// Fails with what the plan refuses (a pattern that is none).
tl::expected<std::unique_ptr<Program::Plan>, Issue> plan(Expr& root, std::shared_ptr<const Env::Declarations> declarations);

}  // namespace fleetadm::cel
