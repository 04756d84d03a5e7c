#include "kubeclient/base/shortest.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <random>

namespace fleetadm {
namespace {

template <typename Number>
void expect_as_the_library(Number value) {
  std::array<char, 32> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  EXPECT_EQ(shortest_scientific(value), std::string(buffer.data(), written.ptr));
}

TEST(Shortest, NumbersOfDailyUse) {
  for (const double value : {0.0, -0.0, 1.0, 0.1, 0.5, -1234.5, 1e21, 1e-7, 1e300}) {
    expect_as_the_library(value);
    expect_as_the_library(static_cast<float>(value < 1e38 ? value : 1));
  }
  EXPECT_EQ(shortest_scientific(0.25), "2.5e-01");
}

// Below these numbers lie closer than above: of the texts that are read back, rounding does not always give the shortest.
TEST(Shortest, PowersOfTwo) {
  for (int exponent = -1074; exponent < 1024; ++exponent) {
    expect_as_the_library(std::ldexp(1.0, exponent));
    expect_as_the_library(-std::ldexp(1.0, exponent));
  }
  for (int exponent = -149; exponent < 128; ++exponent) expect_as_the_library(std::ldexp(1.0F, exponent));
  EXPECT_EQ(shortest_scientific(0x1p-24), "5.960464477539063e-08");
}

TEST(Shortest, RandomNumbers) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t bits = random();
    for (const double value : {std::bit_cast<double>(bits), std::bit_cast<double>(bits >> 12)}) {  // and one below the normal
      if (std::isfinite(value)) expect_as_the_library(value);
    }
    const auto half = static_cast<std::uint32_t>(bits);
    for (const float value : {std::bit_cast<float>(half), std::bit_cast<float>(half >> 9)}) {
      if (std::isfinite(value)) expect_as_the_library(value);
    }
  }
}

}  // namespace
}  // namespace fleetadm
