// What calls of the standard functions cost at run time (docs/reference/cel.md#cost).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/cel/value.h"

namespace fleetadm::cel {

inline constexpr std::uint64_t kListCost = 10;
inline constexpr std::uint64_t kMapCost = 30;

enum class CostRule : unsigned char {
  kOne,
  kFirst,     // a traversal of the first argument
  kSecond,    // … of the second
  kListSize,  // one per element of the second
  kSmaller,   // a traversal of the smaller one
  kBoth,      // … of both, added
  kPattern,   // first + 1 by pattern
  kProduct,   // traversals of both, multiplied
};

/// The rule of an overload; kOne where the overload is not known, or is not decided before run time ("").
CostRule cost_rule(std::string_view overload_id);
/// Sizes are cost_size(); known before the call is made, so that calls which are too dear are never made.
std::uint64_t call_cost(CostRule rule, std::span<const Value> args);

}  // namespace fleetadm::cel
