#include <gtest/gtest.h>

#include "kubeclient/base/yaml.h"

namespace fleetadm {
namespace {

// The expected values are kubectl 1.35's own answers.
struct ScalarCase {
  const char* yaml;
  const char* json;
};
class Scalars : public testing::TestWithParam<ScalarCase> {};
TEST_P(Scalars, ReadAsKubectlReadsThem) {
  const auto value = parse_yaml("x: " + std::string(GetParam().yaml) + "\n");
  ASSERT_TRUE(value) << GetParam().yaml << ": " << value.error().message;
  EXPECT_EQ(dump_json(*value), "{\"x\":" + std::string(GetParam().json) + "}") << GetParam().yaml;
}
INSTANTIATE_TEST_SUITE_P(
    Table, Scalars,
    testing::Values(ScalarCase{"yes", "true"}, ScalarCase{"Y", "true"}, ScalarCase{"on", "true"}, ScalarCase{"OFF", "false"},
                    ScalarCase{"n", "false"}, ScalarCase{"tRue", "\"tRue\""}, ScalarCase{"oN", "\"oN\""}, ScalarCase{"~", "null"},
                    ScalarCase{"NULL", "null"}, ScalarCase{"nUll", "\"nUll\""}, ScalarCase{"", "null"}, ScalarCase{"0777", "511"},
                    ScalarCase{"0o777", "511"}, ScalarCase{"0O17", "15"}, ScalarCase{"0b101", "5"}, ScalarCase{"-0b11", "-3"},
                    ScalarCase{"1_000", "1000"}, ScalarCase{"1__0", "10"}, ScalarCase{"_1", "\"_1\""}, ScalarCase{"08", "8"},
                    ScalarCase{"1.0", "1"}, ScalarCase{"1.", "1"}, ScalarCase{".5", "0.5"}, ScalarCase{"+.5", "0.5"},
                    ScalarCase{".5_0", "0.5"}, ScalarCase{"1e3", "1000"}, ScalarCase{"1E3", "1000"},
                    ScalarCase{"1e400", "\"1e400\""}, ScalarCase{"1e-400", "0"}, ScalarCase{"2026-01-01", "\"2026-01-01\""},
                    ScalarCase{"2026-01-01T10:00:00Z", "\"2026-01-01T10:00:00Z\""}, ScalarCase{"12:30:45", "\"12:30:45\""},
                    ScalarCase{"190:20:30", "\"190:20:30\""}, ScalarCase{"0x1F", "31"}, ScalarCase{"-0x1F", "-31"},
                    ScalarCase{"0xg", "\"0xg\""}, ScalarCase{"9223372036854775807", "9223372036854775807"},
                    ScalarCase{"-9223372036854775808", "-9223372036854775808"},
                    ScalarCase{"9223372036854775808", "9223372036854776000"},
                    ScalarCase{"123456789012345678901234567890", "1.2345678901234568e+29"}, ScalarCase{"++1", "\"++1\""},
                    ScalarCase{"--", "\"--\""}, ScalarCase{"<<", "\"<<\""}, ScalarCase{".", "\".\""},
                    ScalarCase{"inf", "\"inf\""}, ScalarCase{"1.2.3", "\"1.2.3\""}, ScalarCase{"'yes'", "\"yes\""},
                    ScalarCase{"\"123\"", "\"123\""}, ScalarCase{"!!str 123", "\"123\""}, ScalarCase{"!!int \"5\"", "5"},
                    ScalarCase{"!!float 1", "1"}, ScalarCase{"!!bool yes", "true"}, ScalarCase{"!!null \"\"", "null"},
                    ScalarCase{"!!binary aGVsbG8=", "\"hello\""}, ScalarCase{"!foo 12", "\"12\""}, ScalarCase{"! 12", "\"12\""},
                    ScalarCase{"|\n  a\n  b\n", "\"a\\nb\\n\""}, ScalarCase{">-\n\n  x\n\n  y\n", "\"\\nx\\ny\""},
                    ScalarCase{"|+\n  a\n", "\"a\\n\\n\""}, ScalarCase{"a #c", "\"a\""}, ScalarCase{"a#c", "\"a#c\""},
                    ScalarCase{"[1,\n\t2]", "[1,2]"}, ScalarCase{"!!str {b: c}", "{\"b\":\"c\"}"}));

class Documents : public testing::TestWithParam<ScalarCase> {};
TEST_P(Documents, ReadAsKubectlReadsThem) {
  const auto value = parse_yaml(GetParam().yaml);
  ASSERT_TRUE(value) << GetParam().yaml << ": " << value.error().message;
  EXPECT_EQ(dump_json(*value), GetParam().json) << GetParam().yaml;
}
INSTANTIATE_TEST_SUITE_P(
    Table, Documents,
    testing::Values(ScalarCase{"a: 1\na: 2\n", R"({"a":2})"}, ScalarCase{"a: {k: 1}\na: {l: 2}\n", R"({"a":{"l":2}})"},
                    ScalarCase{"a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  l: 3\n", R"({"a":{"k":1,"l":2},"b":{"k":1,"l":3}})"},
                    ScalarCase{"a: &x {k: 1, l: 2}\nb:\n  l: 3\n  <<: *x\n", R"({"a":{"k":1,"l":2},"b":{"k":1,"l":2}})"},
                    ScalarCase{"a: &x {k: 1}\nb: &y {k: 2, m: 3}\nc:\n  <<: [*x, *y]\n",
                               R"({"a":{"k":1},"b":{"k":2,"m":3},"c":{"k":1,"m":3}})"},
                    ScalarCase{"b:\n  \"<<\": {q: 1}\n", R"({"b":{"<<":{"q":1}}})"},
                    ScalarCase{"1: a\nyes: b\n1.5: c\n0x10: d\n1e15: e\n.inf: f\n08: g\n",
                               R"({".inf":"f","1":"a","1.5":"c","16":"d","1e+15":"e","8":"g","true":"b"})"},
                    ScalarCase{"a:\n- b\n- c\nd:\n  - e\n", R"({"a":["b","c"],"d":["e"]})"},
                    ScalarCase{"a: x\r\nb: z\r\n", R"({"a":"x","b":"z"})"},
                    ScalarCase{"\xEF\xBB\xBF"
                               "a: 1\n",
                               R"({"a":1})"},
                    ScalarCase{"{\n\t\"a\": \"\\ud83d\\ude00\"}", "{\"a\":\"\xF0\x9F\x98\x80\"}"},
                    ScalarCase{"{a: 1, b: }", R"({"a":1,"b":null})"}, ScalarCase{"- 1\n- [2, {x: 3}]\n", R"([1,[2,{"x":3}]])"}));

struct BadYaml {
  const char* yaml;
  const char* message;
};
class Malformed : public testing::TestWithParam<BadYaml> {};
TEST_P(Malformed, IsRefusedWithItsPlace) {
  const auto value = parse_yaml_documents(GetParam().yaml);
  ASSERT_FALSE(value) << GetParam().yaml;
  EXPECT_EQ(value.error().category, Category::kInvalid);
  EXPECT_NE(value.error().message.find(GetParam().message), std::string::npos) << value.error().message;
}
INSTANTIATE_TEST_SUITE_P(
    Table, Malformed,
    testing::Values(BadYaml{"image: \"nginx\n  replicas: 3\n", "line 3, column 1: found unexpected end of stream"},
                    BadYaml{"a:\n\tb: 1\n", "line 2, column 1: found character that cannot start any token"},
                    BadYaml{"a: .inf\n", "line 1, column 4: infinities"}, BadYaml{"a: .nan\n", "infinities and NaN"},
                    BadYaml{"a: !!int x\n", "does not fit its tag !!int"}, BadYaml{"a: !!int 1.5\n", "does not fit its tag"},
                    BadYaml{"a: !!binary \"a b\"\n", "not base64"}, BadYaml{"a: *x\n", "line 1, column 4: an alias names"},
                    BadYaml{"a: &a [*a]\n", "contains itself"}, BadYaml{"? [a, b]\n: c\n", "line 1, column 3: a key is neither"},
                    BadYaml{"~: x\n", "a key is neither"}, BadYaml{"9223372036854775808: x\n", "a key is neither"},
                    BadYaml{"b:\n  <<: 3\n", "line 2, column 7: a merge key"}, BadYaml{"b:\n  <<: [3]\n", "a merge key"},
                    BadYaml{"a: b: c\n", "mapping values are not allowed"},
                    BadYaml{"a: \x01\n", "line 1, column 4: control characters"}, BadYaml{"a: x\nb: \xff\n", "line 2, column 4"},
                    BadYaml{"a: @x\n", "cannot start any token"}, BadYaml{"a: \"\\q\"\n", "unknown escape"},
                    BadYaml{"a: [b, c\n", "line 2"}, BadYaml{"{\"a\": [1,}", "line 1"}));

TEST(Yaml, ErrorsDoNotQuoteValues) {
  const auto value = parse_yaml("token: !!int s3cr3t\n");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().message.find("s3cr3t"), std::string::npos);
}

TEST(Yaml, StreamsLeaveEmptyDocumentsOutAndCountLines) {
  const auto documents =
      parse_yaml_documents("# nothing\n---\n---\na: 1\n---\n# only a comment\n---\n\nb: 2\n...\n---\nnull\n--- {c: 3}\n");
  ASSERT_TRUE(documents) << documents.error().message;
  ASSERT_EQ(documents->size(), 3U);
  EXPECT_EQ((*documents)[0].line, 4);
  EXPECT_EQ((*documents)[1].line, 9);
  EXPECT_EQ(dump_json((*documents)[2].value), R"({"c":3})");
  EXPECT_EQ((*documents)[2].line, 13);
  EXPECT_TRUE(parse_yaml_documents("")->empty());
  EXPECT_EQ(parse_yaml("# x\n").error().category, Category::kInvalid);
  EXPECT_EQ(parse_yaml("a: 1\n---\nb: 2\n").error().category, Category::kInvalid);
}

TEST(Yaml, JsonStreamsAreRead) {
  const auto documents = parse_yaml_documents("{\"a\":\"}{\\\"\"}\n\n{\"b\":[1,{}]}");
  ASSERT_TRUE(documents);
  ASSERT_EQ(documents->size(), 2U);
  EXPECT_EQ((*documents)[1].line, 3);
}

TEST(Yaml, DepthIsBounded) {
  const auto nest = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_TRUE(parse_yaml(nest(999)));
  EXPECT_FALSE(parse_yaml(nest(1001)));
  EXPECT_FALSE(parse_yaml(std::string(200'000, '[')));
  EXPECT_FALSE(parse_yaml(std::string(200'000, '{')));
  std::string dashes;
  for (int i = 0; i < 5'000; ++i) dashes += "- ";
  EXPECT_FALSE(parse_yaml(dashes));
  // A chain of aliases is as deep as what it repeats.
  std::string chain = "a0: &a0 " + nest(500) + "\n";
  for (int i = 1; i < 4; ++i) {
    const std::string n = std::to_string(i), before = std::to_string(i - 1);
    chain += "a" + n + ": &a" + n + " " + std::string(300, '[') + "*a" + before + std::string(300, ']') + "\n";
  }
  const auto deep = parse_yaml(chain);
  ASSERT_FALSE(deep);
  EXPECT_NE(deep.error().message.find("deeper"), std::string::npos) << deep.error().message;
}

TEST(Yaml, AliasBombsAreRefused) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string n = std::to_string(i), alias = "*a" + std::to_string(i - 1);
    bomb += "a" + n + ": &a" + n + " [" + alias;
    for (int k = 0; k < 8; ++k) bomb += "," + alias;
    bomb += "]\n";
  }
  const auto value = parse_yaml(bomb);
  ASSERT_FALSE(value);
  EXPECT_NE(value.error().message.find("repeats itself"), std::string::npos) << value.error().message;
  std::string nested;
  for (int i = 0; i < 900; ++i) nested += "&n" + std::to_string(i) + " [";
  for (int i = 0; i < 9'000; ++i) nested += "x,";
  const auto kept = parse_yaml(nested + std::string(900, ']'));
  ASSERT_FALSE(kept);
  EXPECT_NE(kept.error().message.find("under anchors"), std::string::npos) << kept.error().message;
  EXPECT_EQ(dump_json(*parse_yaml("a: &x {k: 1}\nb: *x\nc: [*x, *x]\n")), R"({"a":{"k":1},"b":{"k":1},"c":[{"k":1},{"k":1}]})");
}

}  // namespace
}  // namespace fleetadm
