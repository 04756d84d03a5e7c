#include "kubeclient/base/go_numbers.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>

#include "kubeclient/base/selector.h"

namespace fleetadm {
namespace {

// Bits of the doubles that Kubernetes' own conversion gives for these texts.
TEST(QuantityAsDouble, HasTheBitsOfKubernetes) {
  const std::pair<const char*, std::uint64_t> cases[] = {{"0", 0x0000000000000000},
                                                         {"1Gi", 0x41d0000000000000},
                                                         {"1e10", 0x4202a05f20000000},
                                                         {"32890092Ki", 0x421f5dcec0000000},
                                                         {"15.5Gi", 0x420f000000000001},
                                                         {"1.0001Mi", 0x41300068db8bac71},
                                                         {"1.5Ki", 0x4098000000000000},
                                                         {"8Ei", 0x43e0000000000000},
                                                         {"16Ei", 0x43e0000000000000},
                                                         {"1n", 0x3e112e0be826d695},
                                                         {"0.1Gi", 0x419999999999999a},
                                                         {"0.0003", 0x3f33a92a30553262},
                                                         {"100E", 0x4415af1d78b58c40},
                                                         {"9223372036854775808", 0x43e0000000000000},
                                                         {"+2", 0x4000000000000000},
                                                         {"1.0001", 0x3ff00068db8bac71},
                                                         {"-1", 0xbff0000000000000},
                                                         {"123456789012345678901234", 0x44ba249b1f10a06d},
                                                         {"0.3", 0x3fd3333333333334},
                                                         {"300m", 0x3fd3333333333333},
                                                         {"299m", 0x3fd322d0e5604189},
                                                         {"1500u", 0x3f589374bc6a7efa},
                                                         {"12e-1", 0x3ff3333333333334},
                                                         {"100Ti", 0x42d9000000000000},
                                                         {"1234567890Ti", 0x43e0000000000000},
                                                         {"-9Ei", 0xc3e0000000000000},
                                                         {"0.0000000001", 0x3e112e0be826d695},
                                                         {"1e-12", 0x3e112e0be826d695},
                                                         {"0.0000000009Ki", 0x3eaeefeb710df06a},
                                                         {"1.234567890123456789", 0x3ff3c0ca42c8964b},
                                                         {"1e30", 0x46293e5939a08cea},
                                                         {"999999999999999999", 0x43abc16d674ec800},
                                                         {"1000000000000000000", 0x43abc16d674ec801},
                                                         {"00012", 0x4028000000000000},
                                                         {".5", 0x3fe0000000000000},
                                                         {"5.", 0x4014000000000000},
                                                         {"1e33", 0x46c8a6e32246c99d},
                                                         {"-1.5Gi", 0xc1d8000000000000}};
  for (const auto& [text, bits] : cases) {
    const auto value = quantity_as_double(text);
    ASSERT_TRUE(value.has_value()) << text;
    EXPECT_EQ(std::bit_cast<std::uint64_t>(*value), bits) << text;
  }
  for (const char* bad : {"", "abc", "1Qi", "1ki", "1K", "1e", "1 Gi", "1.2.3", "--1", "1e+", "NaN"}) {
    EXPECT_FALSE(quantity_as_double(bad).has_value()) << bad;
  }
  EXPECT_TRUE(quantity_as_double(std::string(5000, '9') + "e999999999999").has_value());
  EXPECT_TRUE(quantity_as_double("1e-999999999999").has_value());
}

TEST(Truncate, DropsTheFractionAndSaturatesDown) {
  EXPECT_EQ(truncate(-33.9), -33);
  EXPECT_EQ(truncate(33.9), 33);
  EXPECT_EQ(truncate(std::nan("")), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(truncate(1e30), std::numeric_limits<std::int64_t>::min());
}

TEST(Selector, SaysWhatIsWrongInKubernetesWords) {
  const auto error = [](const char* text) { return Selector::compile(*parse_json(text)).error(); };
  EXPECT_EQ(error(R"({"matchExpressions":[{"key":"k","operator":"Gt"}]})"), R"("Gt" is not a valid label selector operator)");
  EXPECT_EQ(error(R"({"matchExpressions":[{"key":"k","operator":"Exists","values":["a"]}]})"),
            R"(values: Invalid value: ["a"]: values set must be empty for exists and does not exist)");
  EXPECT_EQ(error(R"({"matchExpressions":[{"key":"k","operator":"NotIn","values":[]}]})"),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty");
  const std::string both = error(R"({"matchLabels":{"/x":"white space"}})");
  EXPECT_TRUE(both.starts_with(
      R"([key: Invalid value: "/x": prefix part must be non-empty, values[0][/x]: Invalid value: "white space": )"))
      << both;
  EXPECT_TRUE(both.ends_with("]"));
  EXPECT_EQ(error(R"({"matchLabels":{"example.com/zone":"a","tier":""}})"), "");
  EXPECT_EQ(error(R"({"matchLabels":{"a/b/c":"x"}})").substr(0, 46), R"(key: Invalid value: "a/b/c": a qualified name )");
}

TEST(Selector, MatchesLikeKubernetes) {
  const auto matches = [](const char* text, Labels labels) {
    normalize_labels(labels);
    return Selector::compile(*parse_json(text)).matches(labels);
  };
  EXPECT_TRUE(matches("{}", {}));
  EXPECT_TRUE(matches("null", {{"a", "1"}}));
  EXPECT_TRUE(matches(R"({"matchExpressions":[{"key":"a","operator":"NotIn","values":["1"]}]})", {}));
  EXPECT_TRUE(matches(R"({"matchExpressions":[{"key":"a","operator":"DoesNotExist"}]})", {{"b", "1"}}));
  EXPECT_FALSE(matches(R"({"matchExpressions":[{"key":"a","operator":"In","values":["1"]}]})", {}));
  EXPECT_TRUE(
      matches(R"({"matchLabels":{"a":"1"},"matchExpressions":[{"key":"b","operator":"Exists"}]})", {{"b", ""}, {"a", "1"}}));
  EXPECT_FALSE(matches(R"({"matchExpressions":[{"key":"a","operator":"Bad"}]})", {{"a", "1"}}));
  Labels twice{{"a", "1"}, {"a", "2"}};
  normalize_labels(twice);
  EXPECT_EQ(twice, (Labels{{"a", "2"}}));
}

TEST(Selector, TellsItself) {
  const auto text = [](const char* selector) { return Selector::compile(*parse_json(selector)).text(); };
  EXPECT_EQ(text(R"({"matchLabels":{"env":"prod"},"matchExpressions":[{"key":"tier","operator":"In","values":["s","g"]},
                     {"key":"x","operator":"DoesNotExist"}]})"),
            "env=prod,tier in (g,s),!x");
}

}  // namespace
}  // namespace fleetadm
