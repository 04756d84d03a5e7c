#include <gtest/gtest.h>

#include "kubeclient/base/yaml.h"
#include "kubeclient/base/yaml_scalars.h"

namespace fleetadm {
namespace {

// The expected texts are kubectl 1.35's own.
struct StringCase {
  std::string text;
  const char* yaml;
};
class Strings : public testing::TestWithParam<StringCase> {};
TEST_P(Strings, WrittenAsKubectlWritesThem) {
  const std::string written = dump_yaml(Json{{"x", GetParam().text}});
  EXPECT_EQ(written, "x: " + std::string(GetParam().yaml) + "\n");
  const auto read = parse_yaml(written);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(str(*read, {"x"}), GetParam().text);
}
INSTANTIATE_TEST_SUITE_P(
    Table, Strings,
    testing::Values(StringCase{"", "\"\""}, StringCase{"a", "a"}, StringCase{"yes", "\"yes\""}, StringCase{"n", "\"n\""},
                    StringCase{"true", "\"true\""}, StringCase{"null", "\"null\""}, StringCase{"~", "\"~\""},
                    StringCase{"123", "\"123\""}, StringCase{"1e3", "\"1e3\""}, StringCase{"0x1F", "\"0x1F\""},
                    StringCase{"1_000", "\"1_000\""}, StringCase{"190:20:30", "\"190:20:30\""}, StringCase{"1:2", "\"1:2\""},
                    StringCase{"2026-01-01", "\"2026-01-01\""}, StringCase{"2026-01-01T10:00:00Z", "\"2026-01-01T10:00:00Z\""},
                    StringCase{"2026-13-01", "2026-13-01"}, StringCase{"<<", "<<"}, StringCase{"=", "="},
                    StringCase{"- a", "'- a'"}, StringCase{"a: b", "'a: b'"}, StringCase{"a:b", "a:b"}, StringCase{"#a", "'#a'"},
                    StringCase{"it's", "it's"}, StringCase{"'a'", "'''a'''"}, StringCase{" a", "' a'"}, StringCase{"a ", "'a '"},
                    StringCase{"a\n", "|\n  a"}, StringCase{"a\nb", "|-\n  a\n  b"}, StringCase{"a\tb", "\"a\\tb\""},
                    StringCase{"a\r\nb", "\"a\\r\\nb\""}, StringCase{"*x", "'*x'"}, StringCase{"---", "'---'"},
                    StringCase{"inf", "inf"}, StringCase{".inf", "\".inf\""}, StringCase{"1e400", "1e400"},
                    StringCase{"\x01", "\"\\x01\""}, StringCase{"\xE2\x80\xA8x", "\"\\Lx\""}, StringCase{"\xC3\xA4", "\xC3\xA4"},
                    StringCase{"a\n\n", "|+\n  a\n"}));

TEST(Emit, KubectlsShape) {
  const Json value = *parse_json(
      R"({"spec":{"list":[1,"a",[2,[3]],{"x":1,"y":[]}],"empty":{},"none":null,"yes":true,"f":1.5,"g":3.0,"h":1e20,"i":1234567.5}})");
  EXPECT_EQ(dump_yaml(value),
            "spec:\n  empty: {}\n  f: 1.5\n  g: 3\n  h: 1e+20\n  i: 1.2345675e+06\n  list:\n  - 1\n  - a\n  - - 2\n    - - 3\n"
            "  - x: 1\n    \"y\": []\n  none: null\n  \"yes\": true\n");
  EXPECT_EQ(dump_yaml(Json::object()), "{}\n");
  EXPECT_EQ(dump_yaml(Json::array()), "[]\n");
  EXPECT_EQ(dump_yaml(Json("a")), "a\n");
  EXPECT_EQ(dump_yaml(Json{{"a", "x\n\n"}}), "a: |+\n  x\n\n");
}

TEST(Emit, FoldsLongTextAt80) {
  std::string words, expected = "x:";
  for (int i = 0; i < 20; ++i) words += i == 0 ? "word" : " word";
  EXPECT_EQ(dump_yaml(Json{{"x", words}}),
            "x: word word word word word word word word word word word word word word word word\n  word word word word\n");
}

TEST(Emit, RepairsUtf8) { EXPECT_EQ(dump_yaml(Json{{"x", "a\xff"}}), "x: a\xEF\xBF\xBD\n"); }

TEST(Emit, KeysInNaturalOrder) {
  const char* ordered[] = {"",    "-x",  "_",  "1",    "9",   "10", "K1",  "Z",   "a",   "k",
                           "k-1", "k.1", "k1", "k1-5", "k01", "k9", "k10", "k90", "k100"};
  for (std::size_t i = 0; i < std::size(ordered); ++i) {
    for (std::size_t j = 0; j < std::size(ordered); ++j) {
      EXPECT_EQ(yaml::key_less(ordered[i], ordered[j]), i < j) << ordered[i] << " " << ordered[j];
    }
  }
}

TEST(Emit, DeepTreesAreWritten) {
  const auto value = parse_yaml(std::string(990, '[') + std::string(990, ']'));
  ASSERT_TRUE(value);
  EXPECT_FALSE(dump_yaml(*value).empty());
}

}  // namespace
}  // namespace fleetadm
