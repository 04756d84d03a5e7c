// The page of upstream's placement debugger.
#include "core/placement/hub/debug.h"

#include <gtest/gtest.h>

#include "tests/unit/core/placement/fixtures.h"

namespace fleetadm::placement {
namespace {

using fleetadm::test::test_now;

class PlacementDebug : public testing::Test {
 protected:
  void note(SchedulerCache::Kind kind, const Json& object) {
    fleet.note(kind, nullptr, std::make_shared<const kube::CachedObject>(kube::object_key(object), object));
  }
  void SetUp() override {
    note(SchedulerCache::Kind::kSet, fleetadm::test::everything_set("all"));
    note(SchedulerCache::Kind::kBinding, fleetadm::test::binding_object("team", "all"));
    note(SchedulerCache::Kind::kCluster, fleetadm::test::cluster_object("a", {{"env", "prod"}}));
    note(SchedulerCache::Kind::kCluster,
         fleetadm::test::cluster_object("b", {{"env", "prod"}}, {{{"key", "k"}, {"effect", "NoSelect"}}}));
    note(SchedulerCache::Kind::kCluster, fleetadm::test::cluster_object("c", {{"env", "prod"}}));
    note(SchedulerCache::Kind::kDecision, fleetadm::test::decision_object("team", "p-decision-1", "p", {"c"}));
    placement = fleetadm::test::placement_object("team", "p", {{"numberOfClusters", 1}});
    placement["metadata"]["uid"] = "u";
    placement["metadata"]["labels"] = {{"l", "1"}};
    placement["status"] = {{"numberOfSelectedClusters", 7}};
    note(SchedulerCache::Kind::kPlacement, placement);
    fleet.catch_up();
  }
  controller::Manager::Page page(const std::string& path) const {
    return debug_page(
        "/debug/placements/" + path, fleet,
        [&](const std::string& key) -> std::optional<Json> {
          if (key == "team/p") return placement;
          return std::nullopt;
        },
        test_now(), nullptr);
  }

  SchedulerCache fleet;
  Json placement;
};

TEST_F(PlacementDebug, TellsWhatEachStageDid) {
  const auto answer = page("team/p");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.content_type, "application/json");
  EXPECT_EQ(fleetadm::test::parsed(answer.body), fleetadm::test::parsed(R"({
      "placement":{"metadata":{"name":"p","namespace":"team","labels":{"l":"1"}},"spec":{"numberOfClusters":1},
                   "status":{"numberOfSelectedClusters":0,"decisionGroups":null,"conditions":null}},
      "filteredPipelineResults":[{"name":"Predicate","filteredClusters":["a","b","c"]},
                                 {"name":"Predicate,TaintToleration","filteredClusters":["c","a"]}],
      "prioritizeResults":[{"name":"Balance","weight":1,"scores":{"a":100,"c":100}},
                           {"name":"Steady","weight":1,"scores":{"a":0,"c":100}}],
      "aggregatedScores":[{"clusterName":"c","score":200},{"clusterName":"a","score":100}]})"));
}

TEST_F(PlacementDebug, AFailedPassLeavesTheRecordsBeforeIt) {
  placement["spec"] = fleetadm::test::parsed(R"({"prioritizerPolicy":{"mode":"Fancy"}})");
  note(SchedulerCache::Kind::kPlacement, placement);
  fleet.catch_up();
  const Json body = fleetadm::test::parsed(page("team/p").body);
  EXPECT_EQ(list_at(body, {"filteredPipelineResults"}).size(), 2U);
  EXPECT_EQ(find(body, {"prioritizeResults"}), nullptr);
  EXPECT_EQ(find(body, {"aggregatedScores"}), nullptr);
}

TEST_F(PlacementDebug, ACoordinateWithoutATypeIsAnAddons) {
  placement["spec"] = fleetadm::test::parsed(
      R"({"prioritizerPolicy":{"mode":"Exact","configurations":[{"scoreCoordinate":{"builtIn":"Steady"},"weight":1}]}})");
  note(SchedulerCache::Kind::kPlacement, placement);
  fleet.catch_up();
  const auto answer = page("team/p");
  EXPECT_EQ(answer.status, 200) << "P74";
  EXPECT_EQ(list_at(fleetadm::test::parsed(answer.body), {"filteredPipelineResults"}).size(), 2U) << "P74";
  const Json parsed = fleetadm::test::parsed(answer.body);
  EXPECT_EQ(find(parsed, {"prioritizeResults"}), nullptr) << "P74";
}

TEST_F(PlacementDebug, APlacementThatIsSwitchedOffIsStillExplained) {
  placement["metadata"]["annotations"] = {{std::string(kDisableAnnotation), "true"}};
  note(SchedulerCache::Kind::kPlacement, placement);
  fleet.catch_up();
  EXPECT_EQ(list_at(fleetadm::test::parsed(page("team/p").body), {"aggregatedScores"}).size(), 2U);
}

TEST_F(PlacementDebug, WrongPaths) {
  const auto error = [&](const std::string& path) {
    const auto answer = page(path);
    return std::to_string(answer.status) + " " + str(fleetadm::test::parsed(answer.body), {"error"});
  };
  EXPECT_EQ(error("a/b/c"), R"(400 unexpected key format: "a/b/c")");
  EXPECT_EQ(error(""), "400 invalid debug path: namespace and name required");
  EXPECT_EQ(error("p"), "400 invalid debug path: namespace and name required");
  EXPECT_EQ(error("/p"), "400 invalid debug path: namespace and name required");
  EXPECT_EQ(error("team/q"), "404 placement 'q' not found");
}

}  // namespace
}  // namespace fleetadm::placement
