#include "kubeclient/base/shortest.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <limits>
#include <string_view>
#include <utility>

namespace fleetadm {
namespace {

template <typename Number>
std::string shortest(Number value) {
  const auto same = [value](std::string_view text) {
    Number read = 0;
    return std::from_chars(text.data(), text.data() + text.size(), read).ec == std::errc() && read == value;
  };
  std::string text;
  std::string before;
  for (int digits = 0; digits < std::numeric_limits<Number>::max_digits10; ++digits) {
    std::array<char, 32> buffer{};
    const int length = std::snprintf(buffer.data(), buffer.size(), "%.*e", digits, static_cast<double>(value));
    before = std::exchange(text, std::string(buffer.data(), static_cast<std::size_t>(length)));
    if (same(text)) break;
  }
  // Below a power of two numbers lie closer than above it: with a digit less there may be one above that is nearest to no other.
  if (const std::size_t end = before.find('e'); end != std::string::npos && before[end - 1] != '9') {
    ++before[end - 1];
    if (same(before)) return before;
  }
  return text;
}

}  // namespace

std::string shortest_scientific(double value) { return shortest(value); }
std::string shortest_scientific(float value) { return shortest(value); }

}  // namespace fleetadm
