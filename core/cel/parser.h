// Builds the tree of an expression and expands its macros (the grammar of the CEL specification).
#pragma once

#include <string_view>
#include <vector>

#include "core/cel/ast.h"
#include "core/cel/env.h"

namespace fleetadm::cel {

/// More nodes than this after macro expansion are refused: macros copy their targets, so texts could double per call.
inline constexpr std::size_t kMaxNodes = 200'000;

struct ParserOptions {
  const std::vector<Macro>* macros = nullptr;
  bool optional_syntax = false;
};

/// The tree, or what is wrong: one syntax error, or all misused macros and names.
tl::expected<ExprPtr, std::vector<Issue>> parse(std::string_view text, const ParserOptions& options);

}  // namespace fleetadm::cel
