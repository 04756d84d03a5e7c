#include "core/cel/cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace fleetadm::cel {

namespace {

constexpr double kTraversal = 0.1;
constexpr double kPatternLength = 0.25;

std::uint64_t ceiling(double units) { return static_cast<std::uint64_t>(std::ceil(units)); }
double size_of(const Value& value) { return static_cast<double>(cost_size(value)); }

}  // namespace

CostRule cost_rule(std::string_view overload_id) {
  static constexpr std::array<std::pair<std::string_view, CostRule>, 21> kRules = {{
      {"starts_with_string", CostRule::kSecond},
      {"ends_with_string", CostRule::kSecond},
      {"string_to_bytes", CostRule::kFirst},
      {"bytes_to_string", CostRule::kFirst},
      {"strings_quote", CostRule::kFirst},
      {"string_format", CostRule::kFirst},
      {"in_list", CostRule::kListSize},
      {"less_string", CostRule::kSmaller},
      {"greater_string", CostRule::kSmaller},
      {"less_equals_string", CostRule::kSmaller},
      {"greater_equals_string", CostRule::kSmaller},
      {"less_bytes", CostRule::kSmaller},
      {"greater_bytes", CostRule::kSmaller},
      {"less_equals_bytes", CostRule::kSmaller},
      {"greater_equals_bytes", CostRule::kSmaller},
      {"add_string", CostRule::kBoth},
      {"add_bytes", CostRule::kBoth},
      {"matches", CostRule::kPattern},
      {"matches_string", CostRule::kPattern},
      {"contains_string", CostRule::kProduct},
      {"equals", CostRule::kSmaller},
  }};
  for (const auto& [id, rule] : kRules) {
    if (id == overload_id) return rule;
  }
  return overload_id == "not_equals" ? CostRule::kSmaller : CostRule::kOne;
}

std::uint64_t call_cost(CostRule rule, std::span<const Value> args) {
  if (rule == CostRule::kOne || args.empty()) return 1;
  if (rule == CostRule::kFirst) return ceiling(size_of(args[0]) * kTraversal);
  if (args.size() < 2) return 1;
  switch (rule) {
    case CostRule::kSecond: return ceiling(size_of(args[1]) * kTraversal);
    case CostRule::kListSize: return cost_size(args[1]);
    case CostRule::kSmaller: return ceiling(std::min(size_of(args[0]), size_of(args[1])) * kTraversal);
    case CostRule::kBoth: return ceiling((size_of(args[0]) + size_of(args[1])) * kTraversal);
    case CostRule::kPattern: return ceiling((1.0 + size_of(args[0])) * kTraversal) * ceiling(size_of(args[1]) * kPatternLength);
    case CostRule::kProduct: return ceiling(size_of(args[0]) * kTraversal) * ceiling(size_of(args[1]) * kTraversal);
    default: return 1;
  }
}

}  // namespace fleetadm::cel
