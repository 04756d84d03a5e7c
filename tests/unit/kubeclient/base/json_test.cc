#include "kubeclient/base/json.h"

#include <gtest/gtest.h>

#include "kubeclient/base/json_builder.h"

namespace fleetadm {
namespace {

TEST(ParseJson, ReadsEveryType) {
  const auto value = parse_json(R"({"a":[1,-2,3.5,true,null,"x"],"b":{"c":{}}})");
  ASSERT_TRUE(value);
  EXPECT_EQ(dump_json(*value), R"({"a":[1,-2,3.5,true,null,"x"],"b":{"c":{}}})");
}

TEST(ParseJson, KeepsTheLastOfDuplicateKeysAsAWhole) {
  EXPECT_EQ(dump_json(*parse_json(R"({"a":{"x":1},"a":{"y":2}})")), R"({"a":{"y":2}})");
}

TEST(ParseJson, KeepsIntegersOf64Bits) {
  EXPECT_EQ(dump_json(*parse_json("[9223372036854775807,-9223372036854775808,18446744073709551615]")),
            "[9223372036854775807,-9223372036854775808,18446744073709551615]");
  EXPECT_TRUE(parse_json("18446744073709551616")->is_number_float());
}

TEST(ParseJson, RefusesWhatIsDeeperThanTheLimit) {
  const auto nest = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_TRUE(parse_json(nest(512)));
  const auto deep = parse_json(nest(513));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().category, Category::kInvalid);
  EXPECT_FALSE(parse_json(std::string(1'000'000, '[')));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += R"({"a":)";
  EXPECT_FALSE(parse_json(objects));
}

struct BadJson {
  const char* text;
  const char* position;
};
class ParseJsonErrors : public testing::TestWithParam<BadJson> {};

TEST(ParseJson, RefusesMoreValuesThanMemoryShouldHold) {
  std::string text = "[";
  for (std::size_t i = 0; i < kMaxJsonValues; ++i) text += "0,";
  text += "0]";
  const auto refused = parse_json(text);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().category, Category::kInvalid);
  EXPECT_NE(refused.error().message.find("values"), std::string::npos) << refused.error().message;
}

TEST_P(ParseJsonErrors, NameLineAndColumn) {
  const auto value = parse_json(GetParam().text);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().category, Category::kInvalid);
  EXPECT_NE(value.error().message.find(GetParam().position), std::string::npos) << value.error().message;
}

INSTANTIATE_TEST_SUITE_P(Table, ParseJsonErrors,
                         testing::Values(BadJson{"", "line 1, column 1"}, BadJson{"{\"a\":1,}", "line 1, column 8"},
                                         BadJson{"{\n  \"a\": nul\n}", "line 2, column"}, BadJson{"[1] 2", "line 1, column 5"},
                                         BadJson{"[1e400]", "out of range"}, BadJson{"\"\xff\"", "line 1, column 2"}));

TEST(ParseJson, ErrorsDoNotQuoteTheText) {
  const auto value = parse_json(R"({"token":"s3cr3t" x})");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().message.find("s3cr3t"), std::string::npos) << value.error().message;
  const auto open = parse_json(R"({"token":"s3cr3t)");
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().message.find("s3cr3t"), std::string::npos) << open.error().message;
}

struct NumberCase {
  const char* text;
  const char* written;
};
class GoNumbers : public testing::TestWithParam<NumberCase> {};

TEST_P(GoNumbers, AreWrittenAsGoWritesThem) { EXPECT_EQ(dump_json(*parse_json(GetParam().text)), GetParam().written); }

INSTANTIATE_TEST_SUITE_P(Table, GoNumbers,
                         testing::Values(NumberCase{"1.0", "1"}, NumberCase{"1e3", "1000"}, NumberCase{"0.1", "0.1"},
                                         NumberCase{"1e20", "100000000000000000000"}, NumberCase{"1e21", "1e+21"},
                                         NumberCase{"1e-6", "0.000001"}, NumberCase{"1e-7", "1e-7"},
                                         NumberCase{"-1.5e-10", "-1.5e-10"}, NumberCase{"-0.0", "-0"},
                                         NumberCase{"1.7976931348623157e308", "1.7976931348623157e+308"}));

TEST(DumpJson, PrettyIsKubectls) {
  const Json value = *parse_json(R"({"b":[],"a":{"x":"<&>","y":[1,{}]},"c":{}})");
  EXPECT_EQ(dump_json_pretty(value),
            "{\n    \"a\": {\n        \"x\": \"\\u003c\\u0026\\u003e\",\n        \"y\": [\n            1,\n            {}\n"
            "        ]\n    },\n    \"b\": [],\n    \"c\": {}\n}");
  EXPECT_EQ(dump_json_pretty(Json("\xE2\x80\xA8\xE2\x80\xA9")), "\"\\u2028\\u2029\"");
}

TEST(DumpJson, EscapesControlsAndRepairsUtf8) {
  EXPECT_EQ(dump_json(Json(std::string("\"\\\b\f\n\r\t\x01\x7f\xff\xC3\xA4\0", 13))),
            "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\x7f\\ufffd\xC3\xA4\\u0000\"");
  EXPECT_EQ(dump_json(Json("\xED\xA0\x80")), "\"\\ufffd\\ufffd\\ufffd\"");
}

TEST(Accessors, ReadWithDefaults) {
  const Json value = *parse_json(
      R"({"s":"x","n":7,"f":2.0,"h":2.5,"u":18446744073709551615,"b":true,"l":["a",1],"m":{"k":"v","z":1},"d":{"e":{"f":"g"}}})");
  EXPECT_EQ(str(value, {"s"}), "x");
  EXPECT_EQ(str(value, {"n"}, "other"), "other");
  EXPECT_EQ(str(value, {"d", "e", "f"}), "g");
  EXPECT_EQ(str(value, {"d", "x", "f"}, "none"), "none");
  EXPECT_EQ(str(value, {"s", "x"}, "none"), "none");
  EXPECT_EQ(num(value, {"n"}), 7);
  EXPECT_EQ(num(value, {"f"}), 2);
  EXPECT_EQ(num(value, {"h"}, -1), -1);
  EXPECT_EQ(num(value, {"u"}, -1), -1);
  EXPECT_EQ(num(value, {"s"}, -1), -1);
  EXPECT_TRUE(flag(value, {"b"}));
  EXPECT_TRUE(flag(value, {"s"}, true));
  EXPECT_EQ(list_at(value, {"l"}).size(), 2U);
  EXPECT_TRUE(list_at(value, {"m"}).empty());
  EXPECT_TRUE(object_at(value, {"l"}).is_object());
  EXPECT_EQ(string_list_at(value, {"l"}), std::vector<std::string>{"a"});
  EXPECT_EQ(strings_at(value, {"m"}), (std::map<std::string, std::string>{{"k", "v"}}));
  EXPECT_EQ(find(value, {}), &value);
  const Json number = 3;
  EXPECT_EQ(find(number, {"a"}), nullptr);
}

TEST(Accessors, WriteAndErase) {
  Json value = *parse_json(R"({"a":1})");
  at_or_make(value, {"a", "b"}) = "x";
  at_or_make(value, {"c"}) = 2;
  EXPECT_EQ(dump_json(value), R"({"a":{"b":"x"},"c":2})");
  erase_at(value, {"a", "b"});
  erase_at(value, {"a", "b", "c"});
  erase_at(value, {"x", "y"});
  erase_at(value, {"c", "y"});
  EXPECT_EQ(dump_json(value), R"({"a":{},"c":2})");
  erase_at(value, {});
  EXPECT_EQ(dump_json(value), R"({"a":{},"c":2})");
}

TEST(Metadata, ShortWords) {
  const Json object = *parse_json(
      R"({"metadata":{"name":"n","namespace":"s","uid":"u","resourceVersion":"5","labels":{"l":"1"},"annotations":{"a":"2"},
          "finalizers":["f",3],"deletionTimestamp":"2026-01-01T00:00:00Z"}})");
  EXPECT_EQ(name_of(object), "n");
  EXPECT_EQ(namespace_of(object), "s");
  EXPECT_EQ(uid_of(object), "u");
  EXPECT_EQ(resource_version_of(object), "5");
  EXPECT_EQ(label_of(object, "l"), "1");
  EXPECT_EQ(annotation_of(object, "a"), "2");
  EXPECT_TRUE(is_deleting(object));
  EXPECT_TRUE(has_finalizer(object, "f"));
  EXPECT_FALSE(has_finalizer(object, "g"));
  EXPECT_EQ(name_of(Json()), "");
  EXPECT_FALSE(is_deleting(Json::array()));
}

template <class T>
concept FindsIn = requires(T&& value) {
  find(std::forward<T>(value), {"a"});
};

TEST(Json, WhatIsReadFromATemporaryOutlivesIt) {
  static_assert(FindsIn<const Json&> && FindsIn<Json&> && !FindsIn<Json> && !FindsIn<const Json>);
  const auto make = [] { return Json{{"items", {"a name that is too long for a short string", "b"}}, {"o", {{"k", "v"}}}}; };
  std::string all;
  for (const Json& item : list_at(make(), {"items"})) all += item.get<std::string>() + ";";
  EXPECT_EQ(all, "a name that is too long for a short string;b;");
  const Json& object = object_at(make(), {"o"});
  EXPECT_EQ(str(object, {"k"}), "v");
  EXPECT_TRUE(list_at(make(), {"absent"}).empty());
}

}  // namespace
}  // namespace fleetadm
