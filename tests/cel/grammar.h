// The productions of the random expressions.
#pragma once

#include <span>
#include <string_view>

namespace fleetadm::testkit {

/// `{type}` in a pattern stands for an expression of that type; `{type|name:type2}` for one that may use a variable.
struct CelProduction {
  enum class In { kBoth, kSelector, kCondition };
  std::string_view type;
  std::string_view pattern;
  In in = In::kBoth;
};

std::span<const CelProduction> cel_productions();
/// More of them: edges and rare calls.
std::span<const CelProduction> odd_cel_inputs();

}  // namespace fleetadm::testkit
