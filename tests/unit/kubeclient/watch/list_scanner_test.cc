#include "kubeclient/watch/list_scanner.h"

#include <gtest/gtest.h>

#include "kubeclient/watch/json_lines.h"

namespace fleetadm::kube {
namespace {

constexpr std::string_view kList =
    R"( {"kind":"PodList","note":"items","metadata":{"items":[1],"resourceVersion":"7","continue":"c\"]}"},)"
    R"("items": [ {"a":"}],\\\" {"} , {"b":[{"items":[]}]},{} ], "tail":[1,{"x":2}]} )";

std::vector<std::string> scan(std::string_view text, std::size_t step, Result<Json>& envelope) {
  std::vector<std::string> items;
  ListScanner scanner([&](std::string_view item) -> Status {
    items.emplace_back(item);
    return {};
  });
  for (std::size_t at = 0; at < text.size(); at += step) {
    if (auto fed = scanner.feed(text.substr(at, step)); !fed) {
      envelope = fail(fed.error());
      return items;
    }
  }
  envelope = scanner.finish();
  return items;
}

TEST(ListScannerTest, CutsItemsWhereverTheChunksEnd) {
  for (const std::size_t step : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{4096}}) {
    Result<Json> envelope = Json();
    const auto items = scan(kList, step, envelope);
    ASSERT_TRUE(envelope) << envelope.error().message;
    EXPECT_EQ(items, (std::vector<std::string>{R"({"a":"}],\\\" {"})", R"({"b":[{"items":[]}]})", "{}"}));
    EXPECT_EQ(str(*envelope, {"metadata", "resourceVersion"}), "7");
    EXPECT_EQ(str(*envelope, {"metadata", "continue"}), "c\"]}");
    EXPECT_TRUE(list_at(*envelope, {"items"}).empty());
    EXPECT_EQ(list_at(*envelope, {"tail"}).size(), 2U);
  }
}

TEST(ListScannerTest, TellsTruncatedFromEmpty) {
  Result<Json> envelope = Json();
  for (std::size_t length = 1; length + 1 < kList.size(); ++length) {
    scan(kList.substr(0, length), 4096, envelope);
    EXPECT_FALSE(envelope) << length;
  }
  EXPECT_TRUE(scan(R"({"items":[],"metadata":{"resourceVersion":"1"}})", 3, envelope).empty());
  EXPECT_TRUE(envelope);
  EXPECT_TRUE(scan(R"({"items":null,"metadata":{"resourceVersion":"1"}})", 3, envelope).empty());
  EXPECT_TRUE(envelope);
}

TEST(ListScannerTest, RefusesWhatIsNoList) {
  Result<Json> envelope = Json();
  for (const auto* text :
       {R"({"kind":"Status"})", R"([1,2])", R"({"items":{"a":1}})", R"({"items":[1,2]})", R"({"items":["a"]})", "}", "x", ""}) {
    scan(text, 4096, envelope);
    EXPECT_FALSE(envelope) << text;
  }
  scan(std::string(2000, '['), 4096, envelope);
  EXPECT_FALSE(envelope);
}

TEST(JsonLinesTest, JoinsChunksAndSkipsEmptyLines) {
  JsonLines lines;
  std::vector<std::string> seen;
  for (const auto* chunk : {"{\"a\"", ":1}\n\n{\"b\":2}\n{\"c\"", ":3}", "\n"}) {
    EXPECT_TRUE(lines.feed(chunk, [&](std::string_view line) { seen.emplace_back(line); }));
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"{\"a\":1}", "{\"b\":2}", "{\"c\":3}"}));
  EXPECT_FALSE(lines.feed(std::string(JsonLines::kMaxLine + 1, 'x'), [](std::string_view) {}));
}

}  // namespace
}  // namespace fleetadm::kube
