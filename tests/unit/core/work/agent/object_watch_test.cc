// What the agent watches of objects, and what it need not ask because it watches.
#include "core/work/agent/object_watch.h"

#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <set>

#include "core/api/kinds.h"
#include "tests/unit/core/work/fleet.h"

namespace fleetadm::work {
namespace {

using testing::config_map;
using testing::eventually;
using testing::Fleet;
using testing::work_of;

class Watched : public ::testing::Test {
 protected:
  static Place place(const std::string& ns, const std::string& name) { return {kube::resources::config_maps(), ns, name}; }
  static std::vector<Place> in_namespaces(int count) {
    std::vector<Place> places;
    for (int i = 0; i < count; ++i) places.push_back(place("n" + std::to_string(i), "a"));
    return places;
  }
  void put(const std::string& ns, const std::string& name) {
    api->put(kube::resources::config_maps(),
             {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}, {"namespace", ns}}}});
  }
  bool woken(const std::set<std::string>& works) {
    return eventually([&] {
      const std::lock_guard lock(mutex);
      return woken_works == works;
    });
  }
  void forget() {
    const std::lock_guard lock(mutex);
    woken_works.clear();
  }

  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make();
  std::mutex mutex;
  std::set<std::string> woken_works;
  ObjectWatch watch{api->client(), [this](const std::string& work) {
                      const std::lock_guard lock(mutex);
                      woken_works.insert(work);
                    }};
};

TEST_F(Watched, ManyNamespacesShareOneWatch) {
  watch.track("w", in_namespaces(8));
  EXPECT_EQ(watch.informer_count(), 8U);
  watch.track("w", in_namespaces(9));
  EXPECT_EQ(watch.informer_count(), 1U);
  watch.track("w", in_namespaces(5));
  EXPECT_EQ(watch.informer_count(), 1U) << "no change to and fro at the limit";
  watch.track("w", in_namespaces(4));
  EXPECT_EQ(watch.informer_count(), 4U);
  watch.track("w", {});
  EXPECT_EQ(watch.informer_count(), 0U);
}

TEST_F(Watched, AnObjectOfTwoWorksWakesBothUntilOneLeaves) {
  watch.track("w1", {place("n", "a"), place("n", "a")});
  watch.track("w2", {place("n", "a"), place("n", "b")});
  EXPECT_EQ(watch.informer_count(), 1U);
  ASSERT_TRUE(eventually([&] { return watch.look(place("n", "a")).known; }));
  put("n", "a");
  EXPECT_TRUE(woken({"w1", "w2"}));
  EXPECT_TRUE(watch.look(place("n", "a")).exists);
  watch.track("w1", {});
  EXPECT_EQ(watch.informer_count(), 1U);
  forget();
  ASSERT_TRUE(api->erase(kube::resources::config_maps(), "n", "a"));
  EXPECT_TRUE(woken({"w2"}));
  EXPECT_FALSE(watch.look(place("n", "a")).exists);
  forget();
  put("n", "b");
  EXPECT_TRUE(woken({"w2"}));
}

TEST_F(Watched, AWorkThatMovesKeepsNothingOfItsOldPlace) {
  watch.track("w", {place("old", "a")});
  watch.track("w", {place("new", "a")});
  EXPECT_EQ(watch.informer_count(), 1U);
  EXPECT_FALSE(watch.look(place("old", "a")).known);
  ASSERT_TRUE(eventually([&] { return watch.look(place("new", "a")).known; }));
  put("new", "a");
  EXPECT_TRUE(woken({"w"}));
}

class FirstApply : public ::testing::Test {
 protected:
  void SetUp() override {
    fleet.hub->put(api::manifest_works(), work_of("w1", "[" + config_map("a", "1") + "]"));
    fleet.start_agent();
    ASSERT_TRUE(eventually([&] { return fleet.is_applied("w1"); }));
    testing::settle(*fleet.hub, *fleet.spoke);
    fleet.spoke->forget_calls();
  }
  void apply(const std::string& more = "{}") {
    fleet.hub->put(api::manifest_works(), work_of("w2", "[" + config_map("b", "1") + "]", more));
    ASSERT_TRUE(eventually([&] { return fleet.is_applied("w2"); })) << dump_json(fleet.work("w2").value_or(Json()));
  }

  Fleet fleet;
};

TEST_F(FirstApply, CreatesWithoutAReadWhatTheWatchDoesNotSee) {
  apply();
  EXPECT_EQ(fleet.spoke->count("create", "configmaps"), 1);
  EXPECT_EQ(fleet.spoke->count("get", "configmaps"), 0);
}

/// Another writer creates the object after the agent looked and before its own request is done.
void be_faster(testkit::FakeApi& spoke) {
  spoke.on_request(
      [&spoke, once = std::make_shared<std::atomic<bool>>(false)](const testkit::ApiCall& call) -> std::optional<kube::Response> {
        if (call.verb == "create" && call.plural == "configmaps" && !once->exchange(true)) {
          spoke.put(kube::resources::config_maps(), {{"apiVersion", "v1"},
                                                     {"kind", "ConfigMap"},
                                                     {"metadata", {{"name", "b"}, {"namespace", "default"}}},
                                                     {"data", {{"v", "theirs"}}}});
        }
        return std::nullopt;
      });
}

TEST_F(FirstApply, UpdatesWhatSomeoneElseCreatedMeanwhile) {
  be_faster(*fleet.spoke);
  apply();
  const Json live = *fleet.config_map("b");
  EXPECT_EQ(str(live, {"data", "v"}), "1");
  EXPECT_EQ(list_at(live, {"metadata", "ownerReferences"}).size(), 1U);
}

TEST_F(FirstApply, LeavesWhatSomeoneElseCreatedMeanwhileToCreateOnly) {
  be_faster(*fleet.spoke);
  apply(R"({"manifestConfigs": [{"updateStrategy": {"type": "CreateOnly"},
            "resourceIdentifier": {"group": "", "resource": "configmaps", "namespace": "default", "name": "b"}}]})");
  const Json live = *fleet.config_map("b");
  EXPECT_EQ(str(live, {"data", "v"}), "theirs");
  EXPECT_EQ(list_at(live, {"metadata", "ownerReferences"}).size(), 1U);
}

}  // namespace
}  // namespace fleetadm::work
