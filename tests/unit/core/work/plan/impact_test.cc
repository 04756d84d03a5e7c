// What a change of the fleet takes away from clusters.
#include "core/work/plan/impact.h"

#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/work/rules/names.h"

namespace fleetadm::work {
namespace {

using placement::ObjectKind;
using placement::Objects;
using Lines = std::vector<std::string>;

const Instant kImpactNow = *parse_time("2026-03-01T10:00:00Z");

Json cluster(const std::string& name, const std::string& set) {
  return {{"apiVersion", api::managed_clusters().api_version()},
          {"kind", "ManagedCluster"},
          {"metadata", {{"name", name}, {"labels", {{std::string(api::kClusterSetLabel), set}}}}}};
}

Json decision(const std::string& placement, const Lines& clusters) {
  Json entries = Json::array();
  for (const std::string& name : clusters) entries.push_back({{"clusterName", name}, {"reason", ""}});
  return {{"apiVersion", api::placement_decisions().api_version()},
          {"kind", "PlacementDecision"},
          {"metadata",
           {{"name", placement + "-decision-1"},
            {"namespace", "apps"},
            {"labels", {{std::string(api::kPlacementLabel), placement}}}}},
          {"status", {{"decisions", entries}}}};
}

Json placement_object(const std::string& name, Json spec = Json::object()) {
  return {{"apiVersion", api::placements().api_version()},
          {"kind", "Placement"},
          {"metadata", {{"name", name}, {"namespace", "apps"}}},
          {"spec", std::move(spec)}};
}

Json replica_set(const std::string& name, const Lines& placements) {
  Json refs = Json::array();
  for (const std::string& one : placements) refs.push_back({{"name", one}});
  return {{"metadata", {{"name", name}, {"namespace", "apps"}}}, {"spec", {{"placementRefs", refs}}}};
}

Json set_work(const std::string& set, const std::string& cluster_name) {
  return {{"metadata",
           {{"name", set + "-x"}, {"namespace", cluster_name}, {"labels", {{std::string(kReplicaSetLabel), "apps." + set}}}}}};
}

class ImpactTest : public ::testing::Test {
 protected:
  ImpactTest() {
    for (const char* set : {"prod", "dev"}) {
      today.put({{"apiVersion", api::managed_cluster_sets().api_version()},
                 {"kind", "ManagedClusterSet"},
                 {"metadata", {{"name", set}}},
                 {"spec", {{"clusterSelector", {{"selectorType", "ExclusiveClusterSetLabel"}}}}}});
      today.put({{"apiVersion", api::managed_cluster_set_bindings().api_version()},
                 {"kind", "ManagedClusterSetBinding"},
                 {"metadata", {{"name", set}, {"namespace", "apps"}}},
                 {"spec", {{"clusterSet", set}}}});
    }
    for (const char* name : {"c1", "c2"}) today.put(cluster(name, "prod"));
    today.put(cluster("c3", "dev"));
    today.put(placement_object("web"));
    today.put(decision("web", {"c1", "c2", "c3"}));
    sets = {replica_set("web", {"web"})};
    for (const char* name : {"c1", "c2", "c3"}) works.push_back(set_work("web", name));
  }
  Lines lost(const Objects& changed) const {
    const auto moves = selection_changes(today, changed, placements_of(sets), kImpactNow, {});
    Lines lines;
    for (const LostWork& one : lost_works(sets, works, moves)) {
      lines.push_back(one.cluster + " " + one.title() + (one.effect == LostWork::Effect::kAbandoned ? " abandoned" : ""));
    }
    return lines;
  }

  Objects today;
  std::vector<Json> sets;
  std::vector<Json> works;
};

TEST_F(ImpactTest, ABindingThatGoesTakesTheClustersOfItsSet) {
  EXPECT_EQ(lost(today), Lines{});
  Objects changed = today;
  changed.remove(ObjectKind::kBinding, "apps", "prod");
  EXPECT_EQ(lost(changed), (Lines{"c1 apps/web", "c2 apps/web"}));
}

TEST_F(ImpactTest, AClusterThatAnotherPlacementOfTheSetKeepsLosesNothing) {
  sets = {replica_set("web", {"web", "all"})};
  today.put(placement_object("all", {{"clusterSets", {"prod"}}}));
  today.put(decision("all", {"c1", "c2"}));
  Objects changed = today;
  changed.remove(ObjectKind::kBinding, "apps", "dev");
  EXPECT_EQ(lost(changed), Lines{"c3 apps/web"});
  changed = today;
  changed.put(placement_object("web", {{"clusterSets", {"dev"}}}));
  EXPECT_EQ(lost(changed), Lines{}) << "the placement \"all\" keeps c1 and c2";
}

TEST_F(ImpactTest, OnlyWhatIsThereCanBeLost) {
  works = {set_work("web", "c1"), set_work("other", "c2")};
  works.push_back(set_work("web", "c2"));
  works.back()["metadata"]["deletionTimestamp"] = "2026-03-01T09:59:00Z";
  Objects changed = today;
  changed.remove(ObjectKind::kBinding, "apps", "prod");
  EXPECT_EQ(lost(changed), Lines{"c1 apps/web"});
}

TEST_F(ImpactTest, DecisionsThatAreOutOfDateAreNotTheChangesDoing) {
  // The scheduler is about to drop c3 anyway: it left the set.
  today.put(cluster("c3", "gone"));
  Objects changed = today;
  Json labeled = cluster("c1", "prod");
  labeled["metadata"]["labels"]["team"] = "a";
  changed.put(labeled);
  EXPECT_EQ(lost(changed), Lines{});
}

TEST_F(ImpactTest, AMissingPlacementAbandonsAndItsReturnRemoves) {
  Objects without = today;
  without.remove(ObjectKind::kPlacement, "apps", "web");
  EXPECT_EQ(lost(without), (Lines{"c1 apps/web abandoned", "c2 apps/web abandoned", "c3 apps/web abandoned"}));
  // Works stay while the placement is missing; one that selects less removes them.
  today = without;
  today.remove(ObjectKind::kDecision, "apps", "web-decision-1");
  Objects again = today;
  again.put(placement_object("web", {{"clusterSets", {"dev"}}}));
  EXPECT_EQ(lost(again), (Lines{"c1 apps/web", "c2 apps/web"}));
}

TEST_F(ImpactTest, ADisabledPlacementKeepsItsDecisions) {
  Json disabled = placement_object("web");
  disabled["metadata"]["annotations"]["cluster.open-cluster-management.io/experimental-scheduling-disable"] = "true";
  today.put(disabled);
  Objects changed = today;
  changed.remove(ObjectKind::kBinding, "apps", "prod");
  EXPECT_EQ(lost(changed), Lines{});
}

TEST(ImpactSentence, CountsClustersAndNamesWorks) {
  Impact impact;
  impact.clusters = 3;
  EXPECT_EQ(impact.sentence(), "");
  using Effect = LostWork::Effect;
  impact.lost = {{Effect::kRemoved, "c1", "web-x", "apps/web"}, {Effect::kRemoved, "c2", "web-x", "apps/web"}};
  EXPECT_EQ(impact.sentence(), "2 of 3 clusters (c1, c2) would lose 1 work (apps/web)");
  impact.lost.push_back({Effect::kAbandoned, "c3", "db", ""});
  EXPECT_EQ(impact.sentence(),
            "2 of 3 clusters (c1, c2) would lose 1 work (apps/web), and 1 of 3 clusters (c3) would keep 1 work (db) that no "
            "placement controls any longer");
  EXPECT_EQ(some_names({"a", "b", "c", "d", "e", "f", "g"}), "a, b, c, d, e and 2 more");
}

TEST(ImpactSentence, AClusterThatLeavesLosesEveryWork) {
  std::vector<LostWork> lost{{LostWork::Effect::kRemoved, "c1", "web-x", "apps/web"}};
  add_all_works("c1", {set_work("web", "c1"), {{"metadata", {{"name", "db"}, {"namespace", "c1"}}}}}, lost);
  ASSERT_EQ(lost.size(), 2U);
  EXPECT_EQ(lost[0].title(), "db");
  EXPECT_EQ(lost[1].title(), "apps/web");
}

}  // namespace
}  // namespace fleetadm::work
