// Edge cases of CEL selectors (docs/reference/cel.md), through the fleet as the controller sees it; and that kept
// answers follow the clusters and scores they were given for.
#include <gtest/gtest.h>
#include <map>

#include "core/placement/engine/cel_evaluator.h"
#include "core/placement/hub/scheduler_cache.h"
#include "tests/unit/core/placement/fixtures.h"

namespace fleetadm::placement {
namespace {

using fleetadm::test::condition_of;
using fleetadm::test::parsed;
using fleetadm::test::test_now;

class CelEdgeCases : public testing::Test {
 protected:
  void SetUp() override {
    auto made = make_cel_evaluator();
    ASSERT_TRUE(made) << made.error().message;
    cel = std::move(*made);
    put(SchedulerCache::Kind::kSet, fleetadm::test::everything_set("all"));
    put(SchedulerCache::Kind::kBinding, fleetadm::test::binding_object("team", "all"));
    put(SchedulerCache::Kind::kCluster, fleetadm::test::cluster_object("a", {{"env", "prod"}, {"version", "1.30.0"}}));
    put(SchedulerCache::Kind::kCluster, fleetadm::test::cluster_object("b", {{"env", "dev"}, {"version", "1.32.1"}}));
    put(SchedulerCache::Kind::kCluster, fleetadm::test::cluster_object("c"));
    put(SchedulerCache::Kind::kScore, score("a", 5));
    put(SchedulerCache::Kind::kScore, score("b", 50));
  }
  static Json score(const std::string& cluster, int value, const char* until = nullptr) {
    Json object{{"kind", "AddOnPlacementScore"},
                {"metadata", {{"name", "demo"}, {"namespace", cluster}}},
                {"status", {{"scores", {{{"name", "s"}, {"value", value}}}}}}};
    if (until != nullptr) object["status"]["validUntil"] = until;
    return object;
  }
  std::set<std::string> put(SchedulerCache::Kind kind, const Json& object) {
    auto& known = objects_[{kind, kube::object_key(object)}];
    const auto after = std::make_shared<const kube::CachedObject>(kube::object_key(object), object);
    fleet.note(kind, known, after);
    known = after;
    return fleet.catch_up();
  }
  Pass run(const std::vector<std::vector<std::string>>& predicates) {
    Json list = Json::array();
    for (const auto& expressions : predicates)
      list.push_back({{"requiredClusterSelector", {{"celSelector", {{"celExpressions", expressions}}}}}});
    put(SchedulerCache::Kind::kPlacement, fleetadm::test::placement_object("team", "p", {{"predicates", list}}));
    return *fleet.run("team/p", test_now(), {.cel = cel.get()});
  }
  std::vector<std::string> selected(const std::string& expression) { return run({{expression}}).selected; }

  using Names = std::vector<std::string>;
  SchedulerCache fleet;
  std::shared_ptr<const CelEvaluator> cel;

 private:
  std::map<std::pair<SchedulerCache::Kind, std::string>, kube::CachedPtr> objects_;
};

TEST_F(CelEdgeCases, WhatMatches) {
  struct Row {
    const char* id;
    const char* expression;
    Names selected;
  };
  const std::vector<Row> rows = {
      {"a plain one", R"(managedCluster.metadata.labels["env"] == "prod")", {"a"}},
      {"P19 a text", R"("x")", {}},
      {"P19 a number", "1", {}},
      {"P20 a missing key", R"(managedCluster.metadata.labels["none"] == "x")", {}},
      {"P20 with a default", R"(managedCluster.metadata.?labels["k"].orValue("d") == "d")", {"a", "b", "c"}},
      {"P21 has", "has(managedCluster.status.conditions)", {"a", "b", "c"}},
      {"P21 size of null", "size(managedCluster.status.conditions) == 0", {}},
      {"P22 no score object", R"(managedCluster.scores("demo").size() >= 0)", {"a", "b"}},
      {"scores", R"(managedCluster.scores("demo").exists(s, s.name == "s" && s.value > 10))", {"b"}},
      {"P25 beyond the cost limit",
       "[1,2,3,4,5,6,7,8,9,0].all(a,[1,2,3,4,5,6,7,8,9,0].all(b,[1,2,3,4,5,6,7,8,9,0].all(c,[1,2,3,4,5,6,7,8,9,0].all(d,"
       "[1,2,3,4,5,6,7,8,9,0].all(e,[1,2,3,4,5,6,7,8,9,0].all(f, true))))))",
       {}},
      {"an optional for what it holds", R"(managedCluster.metadata.?labels[?"env"].optMap(e, e == "prod"))", {"a"}},
      {"an optional that holds false", "optional.of(false)", {}},
      {"an optional in an optional", "optional.of(optional.of(true))", {"a", "b", "c"}},
      {"the name of a type", "bool", {}},
      {"versions", R"(semver(managedCluster.metadata.labels["version"]).isLessThan(semver("1.31.0")))", {"a"}},
  };
  for (const Row& row : rows) {
    const Pass pass = run({{row.expression}});
    EXPECT_EQ(pass.selected, row.selected) << row.id;
    EXPECT_EQ(condition_of(pass, "PlacementMisconfigured").status, "False") << row.id;
  }
  EXPECT_EQ(run({{"true", "false", "1/0 == 1"}}).selected, Names{}) << "P26";
}

TEST_F(CelEdgeCases, WhatIsMisconfigured) {
  const auto misconfigured = [&](const std::vector<std::vector<std::string>>& predicates, const char* id) {
    const Pass pass = run(predicates);
    EXPECT_EQ(pass.selected, Names{}) << id;
    const auto& condition = condition_of(pass, "PlacementMisconfigured");
    EXPECT_EQ(condition.status, "True") << id;
    EXPECT_TRUE(condition.message.starts_with("Predicate:compilation failed: ")) << id << ": " << condition.message;
  };
  misconfigured({{"true"}, {"managedCluster.("}}, "P17, after one that matches all");
  misconfigured({{R"(semver("v1.2", true).major() == 1)"}}, "P27");
  misconfigured({{"1 == 1.0"}}, "typing");
}

TEST_F(CelEdgeCases, AnExpiredScoreStillCounts) {
  put(SchedulerCache::Kind::kScore, score("a", 99, "2026-01-01T00:00:00Z"));
  EXPECT_EQ(selected(R"(managedCluster.scores("demo").exists(s, s.value > 90))"), Names{"a"}) << "P23";
}

TEST_F(CelEdgeCases, AnswersFollowScoresAndClusters) {
  const std::string by_score = R"(managedCluster.scores("demo").exists(s, s.value > 10))";
  EXPECT_EQ(selected(by_score), Names{"b"});
  EXPECT_EQ(put(SchedulerCache::Kind::kScore, score("a", 60)), std::set<std::string>{"team/p"}) << "P24: here it runs again";
  EXPECT_EQ(selected(by_score), (Names{"a", "b"}));
  const std::string by_version = R"(managedCluster.status.version.kubernetes == "v1.35.4")";
  EXPECT_EQ(selected(by_version), Names{});
  Json cluster = fleetadm::test::cluster_object("c");
  cluster["status"] = {{"version", {{"kubernetes", "v1.35.4"}}}};
  EXPECT_EQ(put(SchedulerCache::Kind::kCluster, cluster), std::set<std::string>{"team/p"});
  EXPECT_EQ(selected(by_version), Names{"c"}) << "a field that only CEL reads";
  cluster["status"] = Json::object();
  put(SchedulerCache::Kind::kCluster, cluster);
  EXPECT_EQ(selected(by_version), Names{});
}

}  // namespace
}  // namespace fleetadm::placement
