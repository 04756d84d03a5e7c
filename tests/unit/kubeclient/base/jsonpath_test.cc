// kubectl's JSONPath: what the templates of its documentation and of its users print.
#include "kubeclient/base/jsonpath.h"

#include <gtest/gtest.h>

namespace fleetadm {
namespace {

const Json& sample() {
  static const Json value = *parse_json(R"({
    "kind": "List",
    "items": [
      {"kind": "Cluster", "metadata": {"name": "c1", "labels": {"a.b/c": "x", "tier": "gold"}}, "cpu": 4, "ready": true, "none": null,
       "addresses": [{"type": "in", "ip": "10.0.0.1"}, {"type": "out", "ip": "1.2.3.4"}]},
      {"kind": "Cluster", "metadata": {"name": "c2", "labels": {"tier": "silver"}}, "cpu": 8, "ready": false, "addresses": []},
      {"kind": "Cluster", "metadata": {"name": "c10"}, "cpu": 1.5}
    ],
    "users": [{"name": "u1", "user": {"password": "p1"}}, {"name": "u2", "user": {"password": "p2"}}],
    "numbers": [0, 1, 2, 3, 4, 5],
    "text": "a\"b"
  })");
  return value;
}

struct Row {
  const char* source;
  const char* expected;
};

class PrintTest : public ::testing::TestWithParam<Row> {};

TEST_P(PrintTest, Prints) {
  const Result<JsonPath> path = JsonPath::parse(GetParam().source);
  ASSERT_TRUE(path) << GetParam().source << ": " << path.error().message;
  const Result<std::string> text = path->print(sample());
  ASSERT_TRUE(text) << GetParam().source << ": " << text.error().message;
  EXPECT_EQ(*text, GetParam().expected) << GetParam().source;
}

INSTANTIATE_TEST_SUITE_P(
    Templates, PrintTest,
    ::testing::Values(
        Row{"", ""}, Row{"plain text", "plain text"}, Row{"{.kind}", "List"}, Row{"{$.kind}", "List"}, Row{"{@.kind}", "List"},
        Row{"kind is {.kind}!", "kind is List!"}, Row{"{['kind']}", "List"}, Row{"{.text}", "a\"b"},
        Row{"{.items[*].metadata.name}", "c1 c2 c10"}, Row{"{.items[0].metadata.name}", "c1"},
        Row{"{.items[-1].metadata.name}", "c10"}, Row{"{.items[0,2].metadata.name}", "c1 c10"}, Row{"{.numbers[1:3]}", "1 2"},
        Row{"{.numbers[:2]}", "0 1"}, Row{"{.numbers[-2:]}", "4 5"}, Row{"{.numbers[::2]}", "0 2 4"},
        Row{"{.numbers[1:5:3]}", "1 4"}, Row{"{.numbers[5:99]}", "5"}, Row{"{.numbers[4:2]}", ""},
        Row{"{.numbers}", "[0,1,2,3,4,5]"}, Row{"{.items[0].metadata.labels}", "{\"a.b/c\":\"x\",\"tier\":\"gold\"}"},
        Row{"{.items[0].metadata.labels.a\\.b/c}", "x"}, Row{"{.items[0].metadata.labels['a.b/c']}", "x"},
        Row{"{.items[0]['kind','cpu']}", "Cluster 4"}, Row{"{.items[*]['metadata.name', 'cpu']}", "4 8 1.5"},
        Row{"{.users[*]['.name','.user']}", ""}, Row{"{.users[0].*}", "u1 {\"password\":\"p1\"}"}, Row{"{..password}", "p1 p2"},
        Row{"{.users..name}", "u1 u2"}, Row{"{.missing}", ""}, Row{"{.items[*].missing}", ""}, Row{"{.kind.deeper}", ""},
        Row{"{.items[?(@.cpu>=4)].metadata.name}", "c1 c2"}, Row{"{.items[?(@.cpu<2)].metadata.name}", "c10"},
        Row{"{.items[?(@.metadata.labels.tier==\"gold\")].metadata.name}", "c1"},
        Row{"{.items[?(@.metadata.labels.tier=='silver')].metadata.name}", "c2"},
        Row{"{.items[?(@.metadata.name != 'c1')].metadata.name}", "c2 c10"},
        Row{"{.items[?(@.ready==true)].metadata.name}", "c1"}, Row{"{.items[?(@.metadata.labels)].metadata.name}", "c1 c2"},
        Row{"{.items[?(@.ready)].metadata.name}", "c1 c2"}, Row{"{.items[*].addresses[?(@.type==\"out\")].ip}", "1.2.3.4"},
        Row{"{range .items[*]}{.metadata.name}{\"\\t\"}{.cpu}{\"\\n\"}{end}", "c1\t4\nc2\t8\nc10\t1.5\n"},
        Row{"{range .items[*]}[{.metadata.name}] {end}done", "[c1] [c2] [c10] done"},
        Row{"{range .items[?(@.cpu>2)]}{range .addresses[*]}{.ip};{end}|{end}", "10.0.0.1;1.2.3.4;||"},
        Row{"{range .nothing[*]}x{end}", ""}, Row{"{'single'} {\"\\u00e9\"}", "single \xC3\xA9"}, Row{"{ .kind }", "List"},
        Row{"{.items[0].none}", ""}, Row{"{.items[0].ready}", "true"}, Row{"{5}", "5"}, Row{"{-2.5}", "-2.5"},
        Row{"{true}", "true"}));

class WrongTest : public ::testing::TestWithParam<const char*> {};

TEST_P(WrongTest, IsAUsageErrorWithItsPlace) {
  const Result<JsonPath> path = JsonPath::parse(GetParam());
  ASSERT_FALSE(path) << GetParam();
  EXPECT_EQ(path.error().category, Category::kUsage);
  EXPECT_NE(path.error().message.find("at position"), std::string::npos) << path.error().message;
}

INSTANTIATE_TEST_SUITE_P(Templates, WrongTest,
                         ::testing::Values("{", "{.a", "{.a[}", "{.a[0}", "{.a['x}", "{.a[?(@.b==)", "{range .a}", "{end}",
                                           "{\"unclosed}", "{foo}", "{.a[?(@.x==1 && @.y==2)]}", "{.a[::0]}", "{.a[::-1]}",
                                           "{.a[]}", "{1.2.3}", "{.a[99999999999999999999]}", "{\"\\uZZZZ\"}", "{%}"));

TEST(JsonPathTest, NestingIsBounded) {
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "{range .a}";
  EXPECT_FALSE(JsonPath::parse(deep));
  deep = "{";
  for (int i = 0; i < 5000; ++i) deep += ".a[?(@";
  EXPECT_FALSE(JsonPath::parse(deep));
}

TEST(JsonPathTest, ErrorsOfTheDataAreSaid) {
  const auto print = [](const char* source) { return JsonPath::parse(source)->print(sample()); };
  EXPECT_EQ(print("{.numbers[9]}").error().message, "jsonpath: index 9 is out of range of a list of 6");
  EXPECT_EQ(print("{.kind[0]}").error().message, "jsonpath: an index on something that is not a list");
  EXPECT_FALSE(print("{.items[?(@.addresses[*].ip=='x')]}"));
}

// What a rule's path selects, as one list, or what is wrong with it.
class SelectTest : public ::testing::TestWithParam<Row> {};

TEST_P(SelectTest, AnswersInKubernetesWords) {
  const auto found = select_json_path(GetParam().source, sample());
  if (!found) {
    EXPECT_EQ(found.error().category, Category::kInvalid);
  }
  EXPECT_EQ(found ? dump_json(Json(*found)) : found.error().message, GetParam().expected) << GetParam().source;
}

INSTANTIATE_TEST_SUITE_P(
    Paths, SelectTest,
    ::testing::Values(Row{".kind", "[\"List\"]"}, Row{"$.kind", "[\"List\"]"}, Row{"['kind']", "[\"List\"]"},
                      Row{".missing.deeper", "[]"}, Row{".items[*].metadata.name", "[\"c1\",\"c2\",\"c10\"]"},
                      Row{".items[0].metadata.labels.a\\.b/c", "[\"x\"]"}, Row{".items[0].metadata.labels['a\\.b/c']", "[\"x\"]"},
                      Row{".items[?(@.cpu>4)].cpu", "values of different types cannot be compared"},
                      Row{".items[?(@.ready==true)].metadata.name", "[\"c1\"]"}, Row{".numbers[1:3]", "[1,2]"},
                      Row{".numbers[-1]", "[5]"}, Row{".numbers[0,2]", "[0,2]"}, Row{"..password", "[\"p1\",\"p2\"]"},
                      Row{".items[0].none[3]", "[]"}, Row{"kind", "unrecognized identifier kind"},
                      Row{".missing kind", "unrecognized identifier kind"}, Row{".items[", "unterminated array"},
                      Row{".items['a", "unterminated array"}, Row{".items[?(@.cpu", "unterminated filter"},
                      Row{".items[abc].x", "invalid array index abc"}, Row{".items[].metadata.name", "[\"c1\"]"},
                      Row{".items[1x]", "invalid array index 1x"},
                      Row{".items[9]", "array index out of bounds: index 9, length 3"},
                      Row{".items[-4]", "array index out of bounds: index -4, length 3"},
                      Row{".numbers[9:]", "array index out of bounds: index 9, length 6"},
                      Row{".numbers[0:9]", "array index out of bounds: index 8, length 6"}, Row{".numbers[9:9]", "[]"},
                      Row{"[\"kind\"]", "invalid array index \"kind\""},
                      Row{".items[?(@.cpu=='x')]", "values of different types cannot be compared"},
                      Row{".numbers[4:2]", "the start of the slice is behind its end"},
                      Row{".kind[0]", "the value is not an array or slice"},
                      Row{".kind[?(@.a)]", "the value is not an array or slice and cannot be filtered"},
                      Row{".items[?(@.addresses[*].ip=='x')]", "can only compare one element at a time"}));

TEST(JsonPathTest, ARulesPathIsBounded) {
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += ".a[?(@";
  EXPECT_FALSE(select_json_path(deep, sample()));
  std::string many = ".numbers";
  many += "[0";
  for (int i = 0; i < 10'001; ++i) many += ",0";
  EXPECT_EQ(select_json_path(many + "]", sample()).error().message, "the path selects too many values");
}

TEST(JsonPathTest, OnePathInItsThreeForms) {
  for (const char* source : {"{.items[0].cpu}", ".items[0].cpu", "items[0].cpu", "$.items[0].cpu"}) {
    const Result<JsonPath> path = JsonPath::parse_path(source);
    ASSERT_TRUE(path) << source;
    const auto values = path->find(sample());
    ASSERT_TRUE(values);
    ASSERT_EQ(values->size(), 1U) << source;
    EXPECT_EQ(*values->front(), Json(4));
  }
  EXPECT_FALSE(JsonPath::parse_path(""));
  EXPECT_FALSE(JsonPath::parse_path("{range .a}{end}"));
  EXPECT_FALSE(JsonPath::parse_path("{.a} text"));
}

}  // namespace
}  // namespace fleetadm
