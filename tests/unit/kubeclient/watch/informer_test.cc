// The informer on the fake server: what it caches, what it tells, and what it survives.
#include "kubeclient/watch/informer.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

#include "tests/support/fake_api.h"

namespace fleetadm::kube {
namespace {

using std::chrono::seconds;
using testkit::FakeApi;

Json config_map(std::string_view ns, std::string_view name, std::string_view value, Json labels = Json::object()) {
  return Json{
      {"apiVersion", "v1"},
      {"kind", "ConfigMap"},
      {"metadata", {{"name", name}, {"namespace", ns}, {"labels", std::move(labels)}, {"managedFields", Json::array({1})}}},
      {"data", {{"k", value}}}};
}

bool eventually(const std::function<bool()>& done, Duration timeout = seconds(10)) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

class InformerTest : public testing::TestWithParam<bool> {
 protected:
  InformerTest() { api->allow_streaming_lists(GetParam()); }

  std::shared_ptr<Informer> start(InformerOptions options = {}) {
    auto informer = Informer::make(api->client(), resources::config_maps(), std::move(options));
    informer->on_event([this](EventType type, const CachedPtr& before, const CachedPtr& after) {
      const std::scoped_lock lock(mutex);
      const char* word = type == EventType::kAdded ? "+" : type == EventType::kModified ? "~" : "-";
      events.push_back(word + (after ? after : before)->key());
    });
    informer->on_synced([this] { ++syncs; });
    informer->start();
    return informer;
  }
  std::vector<std::string> seen() {
    const std::scoped_lock lock(mutex);
    return events;
  }
  void put(std::string_view name, std::string_view value) { api->put(resources::config_maps(), config_map("a", name, value)); }
  static std::string value_of(const Informer& informer, std::string_view key) {
    const auto object = informer.get(key);
    return object ? str(object->decode(), {"data", "k"}) : "absent";
  }

  std::shared_ptr<FakeApi> api = FakeApi::make();
  std::mutex mutex;
  std::vector<std::string> events;
  std::atomic<int> syncs{0};
};

TEST_P(InformerTest, ListsThenFollows) {
  put("x", "1");
  put("y", "1");
  const auto informer = start();
  ASSERT_TRUE(informer->wait_synced(seconds(10)));
  EXPECT_EQ(informer->list().size(), 2U);
  const Json object = informer->get("a/x")->decode();
  EXPECT_EQ(str(object, {"kind"}), "ConfigMap");
  EXPECT_EQ(find(object, {"metadata", "managedFields"}), nullptr);
  put("x", "2");
  put("z", "1");
  api->erase(resources::config_maps(), "a", "y");
  ASSERT_TRUE(eventually([&] { return seen().size() == 5; }));
  EXPECT_EQ(seen(), (std::vector<std::string>{"+a/x", "+a/y", "~a/x", "+a/z", "-a/y"}));
  EXPECT_EQ(value_of(*informer, "a/x"), "2");
  EXPECT_EQ(informer->get("a/y"), nullptr);
  EXPECT_FALSE(informer->last_error());
  informer->stop();
}

TEST_P(InformerTest, WhatIsNestedTooDeeplyIsLeftOutAndTheOthersAreRead) {
  const auto put_nested = [this](std::string_view name, int levels) {
    Json nested = "x";
    for (int i = 0; i < levels; ++i) nested = Json::object_t{{"n", std::move(nested)}};
    Json object = config_map("a", name, "deep");
    object["data"]["nested"] = std::move(nested);
    api->put(resources::config_maps(), object);
  };
  const int most = kMaxObjectDepth - 2;  // inside of the object and its data
  put("x", "1");
  put_nested("deep", most + 1);
  put_nested("just", most);
  const auto informer = start();
  ASSERT_TRUE(informer->wait_synced(seconds(10)));
  ASSERT_TRUE(eventually([&] { return seen() == std::vector<std::string>{"+a/just", "+a/x"}; }));
  EXPECT_FALSE(informer->last_error());
  put("deep", "1");
  put_nested("deep", 1'000);
  put_nested("just", most);
  put_nested("late", most + 1);
  put("x", "2");
  ASSERT_TRUE(eventually([&] { return seen().size() == 5; }));
  EXPECT_EQ(seen(), (std::vector<std::string>{"+a/just", "+a/x", "+a/deep", "~a/just", "~a/x"}));
  EXPECT_EQ(value_of(*informer, "a/deep"), "1") << "its last version that was read stays";

  // Also where the cache is replaced by a list.
  ASSERT_TRUE(eventually([&] { return api->open_watches() == 1; }));
  api->expire_history();
  api->break_watches();
  ASSERT_TRUE(eventually([&] { return syncs == 2; }));
  EXPECT_EQ(seen().size(), 5U);
  EXPECT_EQ(value_of(*informer, "a/deep"), "1");
  EXPECT_EQ(value_of(*informer, "a/late"), "absent");
  put("late", "1");
  api->erase(resources::config_maps(), "a", "deep");
  ASSERT_TRUE(eventually([&] { return seen().size() == 7; }));
  EXPECT_EQ(seen()[5], "+a/late");
  EXPECT_EQ(seen()[6], "-a/deep");
  EXPECT_FALSE(informer->last_error());
  informer->stop();
}

TEST_P(InformerTest, AnEmptyCollectionIsSynced) {
  const auto informer = start();
  ASSERT_TRUE(informer->wait_synced(seconds(10)));
  EXPECT_TRUE(informer->list().empty());
  informer->stop();
}

TEST_P(InformerTest, ResumesAfterACutWithoutListingAgain) {
  put("x", "1");
  const auto informer = start();
  ASSERT_TRUE(informer->wait_synced(seconds(10)));
  ASSERT_TRUE(eventually([&] { return api->open_watches() == 1; }));
  const int lists = api->count("list");
  api->break_watches();
  put("x", "2");
  put("y", "1");
  ASSERT_TRUE(eventually([&] { return seen().size() == 3; }));
  EXPECT_EQ(seen(), (std::vector<std::string>{"+a/x", "~a/x", "+a/y"}));
  EXPECT_EQ(api->count("list"), lists);
  EXPECT_EQ(syncs, 1);
  informer->stop();
}

TEST_P(InformerTest, ListsAgainWhenHistoryExpiredAndTellsOnlyWhatDiffers) {
  put("same", "1");
  put("gone", "1");
  put("changed", "1");
  const auto informer = start();
  ASSERT_TRUE(informer->wait_synced(seconds(10)));
  ASSERT_TRUE(eventually([&] { return api->open_watches() == 1; }));
  const auto same = informer->get("a/same");
  // While the watch is broken the world moves on, and history is lost.
  api->refuse_next("watch", "", 1);
  api->break_watches();
  api->erase(resources::config_maps(), "a", "gone");
  put("changed", "2");
  api->expire_history();
  ASSERT_TRUE(eventually([&] { return syncs == 2; }));
  auto later = seen();
  later.erase(later.begin(), later.begin() + 3);
  EXPECT_EQ(later, (std::vector<std::string>{"-a/gone", "~a/changed"}));
  EXPECT_EQ(informer->get("a/same"), same);  // the very same memory
  informer->stop();
}

TEST_P(InformerTest, FailedListsNeverEmptyTheCache) {
  put("x", "1");
  const auto informer = start();
  ASSERT_TRUE(informer->wait_synced(seconds(10)));
  ASSERT_TRUE(eventually([&] { return api->open_watches() == 1; }));
  api->fail_next("", "configmaps", 500, "InternalError", 3);
  api->expire_history();
  ASSERT_TRUE(eventually([&] { return informer->last_error().has_value(); }));
  EXPECT_EQ(value_of(*informer, "a/x"), "1");
  EXPECT_TRUE(informer->synced());
  ASSERT_TRUE(eventually([&] { return syncs == 2 && !informer->last_error(); }));
  EXPECT_EQ(value_of(*informer, "a/x"), "1");
  EXPECT_EQ(seen(), (std::vector<std::string>{"+a/x"}));
  informer->stop();
}

TEST_P(InformerTest, AListThatStopsInTheMiddleIsNoList) {
  put("x", "1");
  put("y", "1");
  const auto informer = start();
  ASSERT_TRUE(informer->wait_synced(seconds(10)));
  api->allow_streaming_lists(false);
  std::atomic<int> cut{0};
  api->on_request([&](const testkit::ApiCall& call) -> std::optional<Response> {
    if (call.verb != "list" || ++cut > 1) return std::nullopt;
    Response half;
    half.status = 200;
    half.body =
        R"({"kind":"ConfigMapList","metadata":{"resourceVersion":"99"},"items":[{"metadata":{"name":"x","namespace":"a"}})";
    return half;
  });
  api->expire_history();
  ASSERT_TRUE(eventually([&] { return cut >= 1 && informer->last_error().has_value(); }));
  EXPECT_EQ(informer->list().size(), 2U);
  ASSERT_TRUE(eventually([&] { return syncs == 2; }));
  EXPECT_EQ(informer->list().size(), 2U);
  informer->stop();
}

TEST_P(InformerTest, IndexesFollowTheObjects) {
  api->put(resources::config_maps(), config_map("a", "x", "1", {{"team", "red"}}));
  api->put(resources::config_maps(), config_map("a", "y", "1", {{"team", "red"}}));
  InformerOptions options;
  options.indexes.emplace_back("team", [](const Json& object) { return std::vector<std::string>{label_of(object, "team")}; });
  const auto informer = start(options);
  ASSERT_TRUE(informer->wait_synced(seconds(10)));
  EXPECT_EQ(informer->by_index("team", "red").size(), 2U);
  api->put(resources::config_maps(), config_map("a", "x", "1", {{"team", "blue"}}));
  ASSERT_TRUE(eventually([&] { return informer->by_index("team", "blue").size() == 1; }));
  EXPECT_EQ(informer->by_index("team", "red").size(), 1U);
  api->erase(resources::config_maps(), "a", "y");
  ASSERT_TRUE(eventually([&] { return informer->by_index("team", "red").empty(); }));
  EXPECT_TRUE(informer->by_index("other", "red").empty());
  informer->stop();
}

TEST_P(InformerTest, SelectorsAndProjectionsNarrowWhatIsKept) {
  api->put(resources::config_maps(), config_map("a", "x", "secret", {{"keep", "yes"}}));
  api->put(resources::config_maps(), config_map("a", "y", "1"));
  InformerOptions options;
  options.label_selector = "keep=yes";
  options.project = [](Json& object) { erase_at(object, {"data"}); };
  const auto informer = start(options);
  ASSERT_TRUE(informer->wait_synced(seconds(10)));
  ASSERT_EQ(informer->list().size(), 1U);
  const Json projected = informer->list().front()->decode();
  EXPECT_EQ(find(projected, {"data"}), nullptr);
  // An object that leaves the selection is deleted from the cache's view.
  api->put(resources::config_maps(), config_map("a", "x", "secret"));
  ASSERT_TRUE(eventually([&] { return informer->list().empty(); }));
  informer->stop();
}

TEST_P(InformerTest, NoHandlerRunsAfterStop) {
  put("x", "1");
  const auto informer = start();
  ASSERT_TRUE(informer->wait_synced(seconds(10)));
  informer->stop();
  const auto before = seen().size();
  put("x", "2");
  ASSERT_TRUE(eventually([&] { return api->open_watches() == 0; }));
  EXPECT_EQ(seen().size(), before);
}

TEST_P(InformerTest, StopsFromItsOwnHandler) {
  put("x", "1");
  auto informer = Informer::make(api->client(), resources::config_maps());
  std::atomic<int> calls{0};
  informer->on_event([&](EventType, const CachedPtr&, const CachedPtr&) {
    ++calls;
    informer->stop();
  });
  informer->start();
  ASSERT_TRUE(eventually([&] { return calls == 1; }));
  put("x", "2");
  ASSERT_TRUE(eventually([&] { return api->open_watches() == 0; }));
  EXPECT_EQ(calls, 1);
}

INSTANTIATE_TEST_SUITE_P(ListKinds, InformerTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& kind) { return kind.param ? "Streaming" : "Paged"; });

TEST(InformerPagesTest, ManyPagesAreOneList) {
  const auto api = FakeApi::make();
  api->allow_streaming_lists(false);
  for (int i = 0; i < 1203; ++i) api->put(resources::config_maps(), config_map("a", "x" + std::to_string(i), "1"));
  const auto informer = Informer::make(api->client(), resources::config_maps());
  informer->start();
  ASSERT_TRUE(informer->wait_synced(seconds(20)));
  EXPECT_EQ(informer->list().size(), 1203U);
  EXPECT_EQ(api->count("list"), 3);
  informer->stop();
}

TEST(WaitForTest, SeesTheChangeThatItWaitsFor) {
  const auto api = FakeApi::make();
  std::jthread later([&] {
    eventually([&] { return api->open_watches() == 1; });
    api->put(resources::config_maps(), config_map("a", "x", "no"));
    api->put(resources::config_maps(), config_map("a", "x", "yes"));
  });
  const auto found = wait_for(
      api->client(), resources::config_maps(), "a", "x",
      [](const std::optional<Json>& object) -> Result<bool> {
        return object && str(*object, {"data", "k"}) == "yes";
      },
      seconds(10));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(str(**found, {"data", "k"}), "yes");
}

TEST(WaitForTest, SeesADeletionAcrossABrokenWatch) {
  const auto api = FakeApi::make();
  api->put(resources::config_maps(), config_map("a", "x", "1"));
  std::jthread later([&] {
    eventually([&] { return api->open_watches() == 1; });
    api->break_watches();
    api->erase(resources::config_maps(), "a", "x");
  });
  const auto found = wait_for(
      api->client(), resources::config_maps(), "a", "x",
      [](const std::optional<Json>& object) -> Result<bool> { return !object.has_value(); }, seconds(10));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_FALSE(found->has_value());
}

TEST(WaitForTest, EndsInTimeAndSaysWhatItWaitedFor) {
  const auto api = FakeApi::make();
  const auto never = [](const std::optional<Json>&) -> Result<bool> { return false; };
  auto found = wait_for(api->client(), resources::config_maps(), "a", "x", never, std::chrono::milliseconds(150));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().category, Category::kTimeout);
  EXPECT_NE(found.error().message.find("configmaps \"x\""), std::string::npos);

  std::stop_source stop;
  std::jthread later([&] {
    eventually([&] { return api->open_watches() >= 1; });
    stop.request_stop();
  });
  found = wait_for(api->client(), resources::config_maps(), "a", "x", never, seconds(20), stop.get_token());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().category, Category::kCancelled);
}

TEST(WatchCollectionTest, ListsFollowsAndSurvivesExpiry) {
  const auto api = FakeApi::make();
  api->put(resources::config_maps(), config_map("a", "x", "1"));
  std::vector<std::string> seen;
  std::jthread later([&] {
    eventually([&] { return api->open_watches() == 1; });
    api->expire_history();
    api->erase(resources::config_maps(), "a", "x");
    eventually([&] { return api->open_watches() == 1; });
    api->put(resources::config_maps(), config_map("a", "end", "1"));
  });
  const auto status = watch_collection(
      api->client(), resources::config_maps(), "a", {},
      [&](EventType type, const Json& object) {
        seen.push_back((type == EventType::kAdded ? "+" : type == EventType::kModified ? "~" : "-") + name_of(object));
        return name_of(object) != "end";
      },
      {});
  EXPECT_TRUE(status);
  EXPECT_EQ(seen, (std::vector<std::string>{"+x", "-x", "+end"}));
}

}  // namespace
}  // namespace fleetadm::kube
