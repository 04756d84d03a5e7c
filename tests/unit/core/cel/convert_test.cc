#include "core/cel/convert.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace fleetadm::cel {
namespace {

std::string by_library(double value) {
  std::array<char, 32> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  return {buffer.data(), written.ptr};
}

// The fewest digits that are read back as the number, and of those the nearest: at powers of two, below which numbers lie
// closer, these are not always those that rounding gives.
TEST(FormatDouble, GivesTheShortestDigits) {
  for (int exponent = -1074; exponent < 1024; ++exponent) {
    if (exponent >= -14 && exponent < 20) continue;  // without an exponent
    const double value = std::ldexp(1.0, exponent);
    EXPECT_EQ(format_double(value), by_library(value)) << "2^" << exponent;
    EXPECT_EQ(format_double(-value), by_library(-value)) << "-2^" << exponent;
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t bits = random();
    for (const double value : {std::bit_cast<double>(bits), std::bit_cast<double>(bits >> 12)}) {  // and one below the normal
      if (!std::isfinite(value) || (std::abs(value) >= 1e-5 && std::abs(value) < 1e7)) continue;
      EXPECT_EQ(format_double(value), by_library(value)) << bits;
    }
  }
}

TEST(FormatDouble, WritesPlainNumbersWithoutExponent) {
  EXPECT_EQ(format_double(0), "0");
  EXPECT_EQ(format_double(0.1), "0.1");
  EXPECT_EQ(format_double(-1234.5), "-1234.5");
  EXPECT_EQ(format_double(100000), "100000");
  EXPECT_EQ(format_double(1000000), "1e+06");
  EXPECT_EQ(format_fixed(0x1p-24), "0.00000005960464477539063");
}

}  // namespace
}  // namespace fleetadm::cel
