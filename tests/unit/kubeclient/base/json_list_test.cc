#include "kubeclient/base/json_list.h"

#include <gtest/gtest.h>

namespace fleetadm {
namespace {

/// The text in pieces of `size` bytes.
JsonSource pieces_of(std::string_view text, std::size_t size) {
  return [text, size]() mutable {
    const auto piece = text.substr(0, size);
    text.remove_prefix(piece.size());
    return piece;
  };
}

struct Parsed {
  Result<Json> list = Json();
  std::vector<std::string> items;
};

Parsed parse(std::string_view text, std::size_t size = 7) {
  Parsed out;
  out.list = parse_json_list(pieces_of(text, size), [&](Json&& item) -> Status {
    out.items.push_back(dump_json(item));
    return {};
  });
  return out;
}

TEST(JsonList, HandsItemsOverWhateverThePieces) {
  const std::string text =
      R"({"kind":"List","items":[{"a":[1,{"items":[{"x":1}]}],"s":"\"]}é"},{},{"metadata":{"name":"b"}}],"metadata":{"continue":"t"}})";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    const auto parsed = parse(text, size);
    ASSERT_TRUE(parsed.list) << parsed.list.error().message;
    EXPECT_EQ(parsed.items,
              (std::vector<std::string>{R"({"a":[1,{"items":[{"x":1}]}],"s":"\"]}é"})", "{}", R"({"metadata":{"name":"b"}})"}));
    EXPECT_EQ(dump_json(*parsed.list), R"({"items":[],"kind":"List","metadata":{"continue":"t"}})");
  }
}

TEST(JsonList, LeavesOutManagedFieldsOfItemsAlone) {
  const auto parsed = parse(
      R"({"items":[{"metadata":{"managedFields":[{"a":{"b":[1,"x",null,true,1.5,-1]}}],"name":"x"},"spec":{"metadata":{"managedFields":1},"managedFields":[2]}},)"
      R"({"metadata":{"managedFields":null,"uid":"u"}}],"metadata":{"managedFields":3}})");
  ASSERT_TRUE(parsed.list);
  EXPECT_EQ(parsed.items,
            (std::vector<std::string>{R"({"metadata":{"name":"x"},"spec":{"managedFields":[2],"metadata":{"managedFields":1}}})",
                                      R"({"metadata":{"uid":"u"}})"}));
  EXPECT_EQ(dump_json(*parsed.list), R"({"items":[],"metadata":{"managedFields":3}})");
}

TEST(JsonList, AnEmptyListIsNotAnAbsentOne) {
  for (const char* text : {R"({"items":[]})", R"({"items":null})"}) {
    const auto parsed = parse(text);
    ASSERT_TRUE(parsed.list) << text;
    EXPECT_EQ(dump_json(*parsed.list), R"({"items":[]})");
  }
  for (const char* text : {R"({"kind":"List"})", R"({"items":{}})", R"({"items":"x"})", "[]", "1", R"([{"items":[{}]}])"})
    EXPECT_FALSE(parse(text).list) << text;
}

TEST(JsonList, RefusesWhatIsBroken) {
  for (const char* text : {"", "{", R"({"items":[{})", R"({"items":[{}]} x)", R"({"items":[{},1]})", R"({"items":[[]]})",
                           R"({"items":["a"]})", R"({"items":[null]})", R"({"items":[{"metadata":{"managedFields":[}}]})"}) {
    const auto parsed = parse(text);
    ASSERT_FALSE(parsed.list) << text;
    EXPECT_EQ(parsed.list.error().category, Category::kInvalid) << text;
  }
  const std::string deep(100'000, '[');
  const auto parsed = parse(R"({"items":[{"a":)" + deep, 4096);
  ASSERT_FALSE(parsed.list);
  EXPECT_NE(parsed.list.error().message.find("nested deeper"), std::string::npos);
}

TEST(JsonList, AnErrorOfTheReceiverEndsIt) {
  int seen = 0;
  const auto list = parse_json_list(pieces_of(R"({"items":[{},{},{}]})", 3), [&](Json&&) -> Status {
    if (++seen == 2) return fail(Category::kCancelled, "enough");
    return {};
  });
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().category, Category::kCancelled);
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace fleetadm
