#include "kubeclient/base/json_shallow.h"

#include <gtest/gtest.h>
#include <string>

namespace fleetadm {
namespace {

std::string nested_text(int levels, const std::string& open = R"({"a":)", const std::string& close = "}") {
  std::string text;
  for (int i = 0; i < levels; ++i) text += open;
  text += "1";
  for (int i = 0; i < levels; ++i) text += close;
  return text;
}

TEST(ShallowJson, IsTheWholeTextWhereItIsNotDeep) {
  for (const char* text : {"null", "[1,-2,3.5,\"x\",true,null,{}]", R"({"a":{"b":[{"c":1},[[]]]},"d":18446744073709551615})"}) {
    const auto read = parse_json_shallow(text, 5);
    ASSERT_TRUE(read) << text;
    EXPECT_FALSE(read->cut) << text;
    EXPECT_EQ(read->value, parse_json(text).value());
  }
}

TEST(ShallowJson, LeavesOutWhatIsDeeperAndKeepsWhatIsBesideIt) {
  const auto read = parse_json_shallow(R"({"a":{"b":{"c":1}},"d":[[1],2,[[]]],"e":3})", 2);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->cut);
  EXPECT_EQ(dump_json(read->value), R"({"a":{"b":null},"d":[null,2,null],"e":3})");
  EXPECT_FALSE(parse_json_shallow(nested_text(7), 7)->cut);
  EXPECT_TRUE(parse_json_shallow(nested_text(8), 7)->cut);
}

TEST(ShallowJson, TakesAnyDepth) {
  for (const int levels : {kMaxJsonDepth + 1, 10'000, 1'000'000}) {
    const auto objects = parse_json_shallow(nested_text(levels), 1'000'000);  // never more than kMaxJsonDepth
    ASSERT_TRUE(objects) << levels;
    EXPECT_TRUE(objects->cut);
    EXPECT_TRUE(parse_json_shallow(nested_text(levels, "[", "]"), kMaxJsonDepth)->cut);
  }
}

TEST(ShallowJson, DoesNotCountWhatIsMissingOfManagedFields) {
  const std::string deep = nested_text(600);
  const std::string object = R"({"metadata":{"managedFields":[{"fieldsV1":)" + deep + R"(}],"name":"x"}})";
  for (const std::string& text : {object, R"({"type":"ADDED","object":)" + object + "}"}) {
    const auto read = parse_json_shallow(text, kMaxJsonDepth);
    ASSERT_TRUE(read);
    EXPECT_FALSE(read->cut);
  }
  EXPECT_TRUE(parse_json_shallow(R"({"metadata":{"annotations":)" + deep + "}}", kMaxJsonDepth)->cut);
}

TEST(ShallowJson, RefusesWhatIsNoJson) {
  for (const std::string& text : {std::string(), std::string("{"), std::string("[1,]"), nested_text(600) + "}",
                                  std::string(1'000'000, '['), std::string("{\"a\":[[[x]]]}")}) {
    const auto read = parse_json_shallow(text, 2);
    ASSERT_FALSE(read) << text.substr(0, 40);
    EXPECT_EQ(read.error().category, Category::kInvalid);
  }
}

}  // namespace
}  // namespace fleetadm
