// The values of Kubernetes' CEL libraries: what they read, refuse and write.
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "core/cel/library/exact_quantity.h"
#include "core/cel/library/name_formats.h"
#include "core/cel/library/semantic_version.h"
#include "core/cel/library/url.h"

namespace fleetadm::cel {
namespace {

std::string quantity(std::string_view text) {
  const auto read = ExactQuantity::parse(text);
  return read ? read->text() : "refused";
}

TEST(ExactQuantity, WritesCanonicallyOrAsItWas) {
  const std::vector<std::pair<std::string, std::string>> cases = {{"0", "0"},
                                                                  {"1500m", "1500m"},
                                                                  {"6.5", "6500m"},
                                                                  {"1.5Gi", "1536Mi"},
                                                                  {"1024Ki", "1Mi"},
                                                                  {"4096Mi", "4Gi"},
                                                                  {"1e3", "1e3"},
                                                                  {"1000", "1k"},
                                                                  {"+5", "+5"},
                                                                  {"05", "05"},
                                                                  {"0.1n", "1n"},
                                                                  {"1e10", "10e9"},
                                                                  {"9223372036854775807Ki", "9223372036854775807"},
                                                                  {"", "refused"},
                                                                  {"1KiB", "refused"},
                                                                  {"1e+-5", "refused"},
                                                                  {"x", "refused"},
                                                                  {"1e20000", "refused"}};
  for (const auto& [text, wanted] : cases) EXPECT_EQ(quantity(text), wanted) << text;
  EXPECT_EQ(quantity(std::string(2000, '1')), "refused");
}

TEST(ExactQuantity, TellsWholeNumbersByTheirForm) {
  const auto as_int = [](std::string_view text) { return ExactQuantity::parse(text)->as_int(); };
  EXPECT_EQ(as_int("10M"), 10'000'000);
  EXPECT_EQ(as_int("2Ki"), 2048);
  EXPECT_EQ(as_int("500m"), std::nullopt);
  EXPECT_EQ(as_int("1000m"), std::nullopt);  // whole, but not at once
  EXPECT_EQ(as_int("123456789012345678901"), std::nullopt);
}

TEST(ExactQuantity, AddsAndCompares) {
  ExactQuantity sum = *ExactQuantity::parse("50k");
  sum.add(*ExactQuantity::parse("20"));
  EXPECT_EQ(sum.as_int(), 50'020);
  sum.subtract(*ExactQuantity::parse("50020"));
  EXPECT_EQ(sum.sign(), 0);
  EXPECT_EQ(ExactQuantity::parse("1Gi")->compare(*ExactQuantity::parse("1G")), 1);
  EXPECT_EQ(ExactQuantity::parse("1e30")->compare(*ExactQuantity::parse("1e29")), 1);
  ExactQuantity huge = *ExactQuantity::parse("9223372036854775807");
  huge.add(*ExactQuantity::parse("1"));
  EXPECT_EQ(huge.text(), "9223372036854775808");
}

TEST(Url, ReadsAndWrites) {
  const Url url = *Url::parse_request("HTTPS://u:p%40w@Example.com:8443/a%2Fb/c d?x=1&y=%zz&x=2#f%20g");
  EXPECT_EQ(url.scheme(), "https");
  EXPECT_EQ(url.host(), "Example.com:8443");
  EXPECT_EQ(url.hostname(), "Example.com");
  EXPECT_EQ(url.port(), "8443");
  EXPECT_EQ(url.query().at("x"), (std::vector<std::string>{"1", "2"}));
  EXPECT_FALSE(url.query().contains("y"));
  EXPECT_EQ(url.to_string().substr(0, 33), "https://u:p%40w@Example.com:8443/");
  EXPECT_EQ(Url::parse_request("http://[::1]:80/")->hostname(), "::1");
  for (const char* bad : {"", "relative", "http://a b/", "http://h:x/", "http://[::1/", "http://[1.2.3.4]/", "/\x01", ":x"}) {
    EXPECT_FALSE(Url::check_request(bad).has_value()) << bad;
  }
}

TEST(SemanticVersion, IsStrict) {
  const auto compare = [](std::string_view a, std::string_view b) {
    return SemanticVersion::parse(a)->compare(*SemanticVersion::parse(b));
  };
  EXPECT_EQ(compare("1.2.3-rc.2", "1.2.3-rc.10"), -1);
  EXPECT_EQ(compare("1.2.3-1", "1.2.3-a"), -1);
  EXPECT_EQ(compare("1.2.3-rc", "1.2.3"), -1);
  EXPECT_EQ(compare("1.2.3+a", "1.2.3+b"), 0);
  for (const char* bad : {"", "1", "1.2", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3-a..b", "1.2.x"}) {
    EXPECT_FALSE(SemanticVersion::parse(bad).has_value()) << bad;
  }
}

TEST(NamedFormats, SayWhatIsWrong) {
  const auto wrong = [](std::string_view format, std::string_view text) { return named_format(format)->validate(text).size(); };
  EXPECT_EQ(wrong("dns1123Label", "my-name"), 0U);
  EXPECT_EQ(wrong("dns1123Label", "my-name-"), 1U);
  EXPECT_EQ(wrong("dns1123LabelPrefix", "my-name-"), 0U);
  EXPECT_EQ(wrong("dns1123Label", std::string(64, 'A')), 2U);
  EXPECT_EQ(wrong("qualifiedName", "example.com/Key_1"), 0U);
  EXPECT_EQ(wrong("labelValue", ""), 0U);
  EXPECT_EQ(wrong("date", "2023-02-29"), 1U);
  EXPECT_EQ(wrong("datetime", "2024-02-29t23:59:59.5+01:00"), 0U);
  EXPECT_EQ(wrong("byte", "aGVsbG8="), 0U);
  EXPECT_EQ(named_format("nope"), nullptr);
}

}  // namespace
}  // namespace fleetadm::cel
