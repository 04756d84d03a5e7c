// Watches in a version that a webhook converts to.
#include <atomic>

#include "core/sandbox/engine/converted_events.h"
#include "tests/unit/core/sandbox/convert/conversion_lab.h"

namespace fleetadm::sandbox {
namespace {

using namespace std::chrono_literals;

TEST_F(ConversionLab, WatchesConvertedEvents) {
  made(link_v1("a", "one:1"));
  auto events = watch(links("v2"), 5);
  std::this_thread::sleep_for(1s);
  made(link_v1("b", "two:1"));
  expect(merge(links("v1", "/a"), {{"spec", {{"address", "three:1"}}}}), 200);
  expect(send("DELETE", links("v1", "/b")), 200);
  const auto seen = events.get();
  EXPECT_EQ(words(seen), (std::vector<std::string>{"ADDED a one", "ADDED b two", "MODIFIED a three", "DELETED b two"}));
  for (const Json& event : seen) EXPECT_EQ(str(event, {"object", "apiVersion"}), "x.example.com/v2");
}

TEST_F(ConversionLab, ASlowWebhookHoldsUpItsWatchAndNoOther) {
  made(link_v1("a", "one:1"));
  webhook_->set(Mood::kSlow);
  auto slow = watch(links("v2"), 10);
  auto others = watch(links("v1"), 5);
  std::this_thread::sleep_for(1s);
  const auto began = std::chrono::steady_clock::now();
  made(link_v1("b", "two:1"));
  expect(merge(links("v1", "/b"), {{"spec", {{"address", "three:1"}}}}), 200);
  EXPECT_EQ(get("/version").status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 1900ms) << "nothing waits for the webhook";
  EXPECT_EQ(others.get().size(), 3U);
  EXPECT_EQ(words(slow.get()), (std::vector<std::string>{"ADDED a one", "ADDED b two", "MODIFIED b three"}));
}

TEST_F(ConversionLab, AFailureHoldsUpTheWatchForAWhile) {
  auto events = watch(links("v2"), 8);
  std::this_thread::sleep_for(1s);
  webhook_->set(Mood::kRefuses);
  made(link_v1("a", "one:1"));
  std::this_thread::sleep_for(500ms);
  made(link_v1("b", "two:1"));
  EXPECT_FALSE(webhook_->reviews().empty());
  webhook_->set(Mood::kGood);
  EXPECT_EQ(words(events.get()), (std::vector<std::string>{"ADDED a one", "ADDED b two"}));
}

TEST_F(ConversionLab, AFailureThatLastsEndsTheWatch) {
  made(link_v1("a"));
  webhook_->set(Mood::kRefuses);
  auto event = std::make_shared<Event>();
  event->ns = "default";
  event->name = "a";
  event->now = stored("a");
  const auto kind = cluster_->api().engine().kinds().find("x.example.com", "v2", "links");
  std::atomic<int> woken{0};
  ConvertedEvents converted(
      kind, false, [&] { ++woken; }, 1500ms);
  converted.add({event});
  const auto until = std::chrono::steady_clock::now() + 5s;
  auto next = converted.next();
  for (; next && !*next && std::chrono::steady_clock::now() < until; next = converted.next()) std::this_thread::sleep_for(50ms);
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, 500);
  EXPECT_EQ(next.error().message, "conversion webhook for x.example.com/v1, Kind=Link failed: not today");
  EXPECT_GE(webhook_->reviews().size(), 2U);
  EXPECT_GE(woken, 2);
}

TEST_F(ConversionLab, ManyEventsComeInOrder) {
  for (int i = 0; i < 70; ++i) made(link_v1("l" + std::to_string(1000 + i), "h" + std::to_string(i) + ":1"));
  auto events = watch(links("v2") + "?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", 10);
  std::this_thread::sleep_for(500ms);
  for (int i = 0; i < 20; ++i)
    expect(merge(links("v1", "/l1000"), {{"spec", {{"address", "n" + std::to_string(i) + ":1"}}}}), 200);
  const auto seen = words(events.get());
  ASSERT_GE(seen.size(), 91U);
  for (int i = 0; i < 70; ++i)
    EXPECT_EQ(seen[static_cast<std::size_t>(i)], "ADDED l" + std::to_string(1000 + i) + " h" + std::to_string(i));
  EXPECT_EQ(seen[70], "BOOKMARK  ");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(71 + i)], "MODIFIED l1000 n" + std::to_string(i));
}

TEST_F(ConversionLab, SelectsByWhatIsShown) {
  webhook_->set(Mood::kRelabels);
  auto selected = watch(links("v2") + "?labelSelector=via%3Dwebhook", 5);
  auto nothing = watch(links("v2") + "?labelSelector=via%3Dother", 5);
  auto named = watch(links("v2") + "?fieldSelector=metadata.name%3Db", 5);
  std::this_thread::sleep_for(1s);
  made(link_v1("a"));
  made(link_v1("b"));
  expect(send("DELETE", links("v1", "/a")), 200);
  EXPECT_EQ(words(selected.get()), (std::vector<std::string>{"ADDED a h", "ADDED b h", "DELETED a h"}));
  EXPECT_TRUE(nothing.get().empty());
  EXPECT_EQ(words(named.get()), (std::vector<std::string>{"ADDED b h"}));
}

}  // namespace
}  // namespace fleetadm::sandbox
