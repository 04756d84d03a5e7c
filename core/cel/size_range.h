// Arithmetic on ranges of sizes and costs that stops at the greatest value. Internal to the cost estimate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/cel/cost_estimate.h"

namespace fleetadm::cel {

inline constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

using SizeRange = CostRange;

inline std::uint64_t bounded_sum(std::uint64_t a, std::uint64_t b) { return a > kUnbounded - b ? kUnbounded : a + b; }
inline std::uint64_t bounded_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kUnbounded : product;
}
/// Rounded up.
inline std::uint64_t bounded_share(std::uint64_t size, double factor) {
  const double value = std::ceil(static_cast<double>(size) * factor);
  return value >= 0x1p64 ? kUnbounded : static_cast<std::uint64_t>(value);
}

inline CostRange fixed_range(std::uint64_t value) { return {value, value}; }
inline CostRange sum_of(CostRange a, CostRange b) { return {bounded_sum(a.min, b.min), bounded_sum(a.max, b.max)}; }
inline CostRange product_of(CostRange a, CostRange b) { return {bounded_product(a.min, b.min), bounded_product(a.max, b.max)}; }
inline CostRange share_of(CostRange a, double factor) { return {bounded_share(a.min, factor), bounded_share(a.max, factor)}; }
inline CostRange either_of(CostRange a, CostRange b) { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }

}  // namespace fleetadm::cel
