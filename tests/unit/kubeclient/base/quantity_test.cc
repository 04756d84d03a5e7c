#include "kubeclient/base/quantity.h"

#include <gtest/gtest.h>
#include <limits>

namespace fleetadm {
namespace {

struct Canonical {
  const char* text;
  const char* written;
};
class CanonicalForm : public testing::TestWithParam<Canonical> {};
TEST_P(CanonicalForm, IsKubernetes) {
  const auto quantity = Quantity::parse(GetParam().text);
  ASSERT_TRUE(quantity) << GetParam().text;
  EXPECT_EQ(quantity->to_string(), GetParam().written) << GetParam().text;
  const auto again = Quantity::parse(quantity->to_string());
  ASSERT_TRUE(again);

  EXPECT_EQ(again->to_string(), quantity->to_string());
}
INSTANTIATE_TEST_SUITE_P(
    Table, CanonicalForm,
    testing::Values(Canonical{"0", "0"}, Canonical{"-0", "0"}, Canonical{"0Ki", "0"}, Canonical{"0e5", "0"}, Canonical{"1", "1"},
                    Canonical{"+1", "1"}, Canonical{"-1", "-1"}, Canonical{"500m", "500m"}, Canonical{"1500m", "1500m"},
                    Canonical{"1.5", "1500m"}, Canonical{"0.5", "500m"}, Canonical{".5", "500m"}, Canonical{"1.", "1"},
                    Canonical{"1000m", "1"}, Canonical{"1000", "1k"}, Canonical{"1000000", "1M"}, Canonical{"1500", "1500"},
                    Canonical{"0.1k", "100"}, Canonical{"1Ki", "1Ki"}, Canonical{"1024Ki", "1Mi"}, Canonical{"1.5Gi", "1536Mi"},
                    Canonical{"0.5Gi", "512Mi"}, Canonical{"0.5Ki", "512"}, Canonical{"1023Ki", "1023Ki"},
                    Canonical{"0.0001Ki", "102400u"}, Canonical{"1.1Gi", "1181116006400m"}, Canonical{"-0.3Mi", "-314572800m"},
                    Canonical{"1025Mi", "1025Mi"}, Canonical{"1e3", "1e3"}, Canonical{"1E3", "1e3"}, Canonical{"1e+3", "1e3"},
                    Canonical{"1.5e3", "1500"}, Canonical{"1e2", "100"}, Canonical{"1e-3", "1e-3"}, Canonical{"1e-1", "100e-3"},
                    Canonical{"1E", "1E"}, Canonical{"1Ei", "1Ei"}, Canonical{"1n", "1n"}, Canonical{"0.1n", "1n"},
                    Canonical{"-0.1n", "-1n"}, Canonical{"1.0000000001", "1000000001n"}, Canonical{"8Ei", "9223372036854775807"},
                    Canonical{"10E", "10E"}, Canonical{"-10E", "-10E"}, Canonical{"1e999", "1000000000e18"},
                    Canonical{"1e20", "100e18"}, Canonical{"1e-999", "1e-9"}, Canonical{"7Ei", "7Ei"},
                    Canonical{"9223372036854775807", "9223372036854775807"},
                    Canonical{"12345678901234567890.5", "12345678901234567890500m"},
                    Canonical{"77767066720108849Gi", "9223372036854775807"},
                    Canonical{"1234567890123456789.123456789", "1234567890123456789123456789n"},
                    Canonical{"1234567890123456789.1234567891", "1234567890123456789123456790n"},
                    Canonical{"0.000000000000000000000000000000001Ei", "1n"}, Canonical{"16393356Ki", "16393356Ki"},
                    Canonical{"100000000000000000000000e-21", "100"}, Canonical{"1u", "1u"}, Canonical{"1000u", "1m"}));

class BadQuantity : public testing::TestWithParam<const char*> {};
TEST_P(BadQuantity, IsRefused) {
  const auto quantity = Quantity::parse(GetParam());
  ASSERT_FALSE(quantity) << quantity->to_string();
  EXPECT_EQ(quantity.error().category, Category::kInvalid);
}
INSTANTIATE_TEST_SUITE_P(Table, BadQuantity,
                         testing::Values("", "-", "+", ".", "k", "1.1.M", "1+1.0M", "0.1mi", "0.1am", "aoeu", ".5i", "1i",
                                         "-3.01i", "-3.01e-", "1e", "1e+", "1e+-1", "1e1.5", " 1", "1 ", "1K", "1ki", "1KI",
                                         "--1", "1mm", "1Mib"));

TEST(Quantity, RefusesEndlessText) { EXPECT_FALSE(Quantity::parse(std::string(2000, '1'))); }

TEST(Quantity, RoundsUpToWholeUnitsAndThousandths) {
  EXPECT_EQ(Quantity::parse("1500m")->value(), 2);
  EXPECT_EQ(Quantity::parse("-1500m")->value(), -2);
  EXPECT_EQ(Quantity::parse("1n")->milli_value(), 1);
  EXPECT_EQ(Quantity::parse("2")->milli_value(), 2000);
  EXPECT_EQ(Quantity::parse("1.5Gi")->value(), 1610612736);
  EXPECT_EQ(Quantity::parse("8Ei")->milli_value(), std::numeric_limits<std::int64_t>::max());
  EXPECT_DOUBLE_EQ(Quantity::parse("250m")->approximate(), 0.25);
}

TEST(Quantity, AddsAndCompares) {
  Quantity sum;
  for (const char* part : {"512Mi", "1Gi", "512Mi"}) sum += *Quantity::parse(part);
  EXPECT_EQ(sum.to_string(), "2Gi");
  sum -= *Quantity::parse("2147483648");
  EXPECT_TRUE(sum.is_zero());
  sum -= *Quantity::parse("500m");
  EXPECT_EQ(sum.to_string(), "-500m");
  EXPECT_EQ(Quantity::parse("1Ki")->compare(*Quantity::parse("1024")), 0);
  EXPECT_LT(Quantity::parse("1k")->compare(*Quantity::parse("1Ki")), 0);
  EXPECT_GT(Quantity::parse("1")->compare(*Quantity::parse("999m")), 0);
  EXPECT_EQ(Quantity::from_int(3).to_string(), "3");
  EXPECT_EQ(Quantity::from_int(2048, Quantity::Format::kBinarySI).to_string(), "2Ki");
}

}  // namespace
}  // namespace fleetadm
