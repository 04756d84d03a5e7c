// Which placements a change runs again (docs/reference/placement.md#triggers), and what it leaves alone.
#include "core/placement/hub/scheduler_cache.h"

#include <gtest/gtest.h>
#include <map>

#include "tests/unit/core/placement/fixtures.h"

namespace fleetadm::placement {
namespace {

using fleetadm::test::parsed;
using fleetadm::test::test_now;
using Keys = std::set<std::string>;

/// A hub of plain objects: remembers what each was before, as an informer does.
class Hub {
 public:
  Keys put(const Json& object) {
    const auto cached = std::make_shared<const kube::CachedObject>(kube::object_key(object), object);
    auto& known = objects_[str(object, {"kind"}) + " " + cached->key()];
    fleet.note(kind(object), known, cached);
    known = cached;
    return fleet.catch_up();
  }
  Keys remove(const Json& object) {
    auto& known = objects_[str(object, {"kind"}) + " " + kube::object_key(object)];
    fleet.note(kind(object), known, nullptr);
    known = nullptr;
    return fleet.catch_up();
  }
  std::vector<std::string> selected(const std::string& key) const {
    const auto pass = fleet.run(key, test_now());
    return pass ? pass->selected : std::vector<std::string>{"no such placement"};
  }

  SchedulerCache fleet;

 private:
  static SchedulerCache::Kind kind(const Json& object) {
    const std::string name = str(object, {"kind"});
    if (name == "ManagedCluster") return SchedulerCache::Kind::kCluster;
    if (name == "ManagedClusterSet") return SchedulerCache::Kind::kSet;
    if (name == "ManagedClusterSetBinding") return SchedulerCache::Kind::kBinding;
    if (name == "PlacementDecision") return SchedulerCache::Kind::kDecision;
    if (name == "AddOnPlacementScore") return SchedulerCache::Kind::kScore;
    return SchedulerCache::Kind::kPlacement;
  }
  std::map<std::string, kube::CachedPtr> objects_;
};

Json member(const std::string& name, const std::string& set) {
  return fleetadm::test::cluster_object(name, {{"cluster.open-cluster-management.io/clusterset", set}});
}

Json by_addon(const std::string& ns, const std::string& name) {
  return fleetadm::test::placement_object(ns, name, parsed(R"({"prioritizerPolicy":{"configurations":[
      {"scoreCoordinate":{"type":"AddOn","addOn":{"resourceName":"demo","scoreName":"s"}},"weight":1}]}})"));
}

class FleetTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const std::string set : {"a", "b"}) {
      hub.put(fleetadm::test::set_object(set));
      hub.put(fleetadm::test::binding_object("in-" + set, set));
      EXPECT_EQ(hub.put(fleetadm::test::placement_object("in-" + set, "p", Json::object())), Keys{"in-" + set + "/p"});
    }
  }
  Hub hub;
};

TEST_F(FleetTest, AClusterRunsThePlacementsOfItsSets) {
  EXPECT_EQ(hub.put(member("c1", "a")), Keys{"in-a/p"});
  EXPECT_EQ(hub.selected("in-a/p"), std::vector<std::string>{"c1"});
  EXPECT_EQ(hub.put(member("c1", "b")), (Keys{"in-a/p", "in-b/p"})) << "P72: both the old and the new set";
  EXPECT_EQ(hub.selected("in-a/p"), std::vector<std::string>{});
  EXPECT_EQ(hub.selected("in-b/p"), std::vector<std::string>{"c1"});
  EXPECT_EQ(hub.put(member("c2", "none")), Keys{});
  EXPECT_EQ(hub.remove(member("c1", "b")), Keys{"in-b/p"});
}

TEST_F(FleetTest, WhatNoStageReadsRunsNothingButCel) {
  hub.put(member("c1", "a"));
  Json beat = member("c1", "a");
  beat["status"]["conditions"] = {{{"type", "ManagedClusterConditionAvailable"}, {"status", "True"}}};
  EXPECT_EQ(hub.put(beat), Keys{});
  hub.put(fleetadm::test::placement_object(
      "in-a", "cel", parsed(R"({"predicates":[{"requiredClusterSelector":{"celSelector":{"celExpressions":["true"]}}}]})")));
  beat["status"]["version"] = {{"kubernetes", "v1.35.4"}};
  EXPECT_EQ(hub.put(beat), Keys{"in-a/cel"});
  beat["spec"]["taints"] = {{{"key", "k"}, {"effect", "NoSelect"}}};
  EXPECT_EQ(hub.put(beat), (Keys{"in-a/cel", "in-a/p"}));
}

TEST_F(FleetTest, AChangedLabelRunsThePlacementsThatReadIt) {
  hub.put(fleetadm::test::placement_object(
      "in-a", "by-env",
      parsed(R"({"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchLabels":{"env":"prod"}}}}]})")));
  hub.put(fleetadm::test::placement_object(
      "in-a", "by-claim",
      parsed(
          R"({"predicates":[{"requiredClusterSelector":{"claimSelector":{"matchExpressions":[{"key":"os","operator":"Exists"}]}}}]})")));
  hub.put(fleetadm::test::placement_object("in-a", "grouped", parsed(R"({"decisionStrategy":{"groupStrategy":{"decisionGroups":[
          {"groupName":"canary","groupClusterSelector":{"labelSelector":{"matchLabels":{"tier":"canary"}}}}]}}})")));
  hub.put(fleetadm::test::placement_object("in-a", "by-cpu", parsed(R"({"prioritizerPolicy":{"configurations":[
          {"scoreCoordinate":{"type":"BuiltIn","builtIn":"ResourceAllocatableCPU"},"weight":1}]}})")));
  Json one = member("c1", "a");
  EXPECT_EQ(hub.put(one), (Keys{"in-a/by-claim", "in-a/by-cpu", "in-a/by-env", "in-a/grouped", "in-a/p"}));
  one["metadata"]["labels"]["env"] = "prod";
  EXPECT_EQ(hub.put(one), Keys{"in-a/by-env"});
  EXPECT_EQ(hub.selected("in-a/by-env"), std::vector<std::string>{"c1"});
  one["metadata"]["labels"]["tier"] = "canary";
  EXPECT_EQ(hub.put(one), Keys{"in-a/grouped"});
  one["metadata"]["labels"]["unread"] = "x";
  EXPECT_EQ(hub.put(one), Keys{});
  one["status"]["clusterClaims"] = {{{"name", "os"}, {"value", "linux"}}};
  EXPECT_EQ(hub.put(one), Keys{"in-a/by-claim"});
  EXPECT_EQ(hub.selected("in-a/by-claim"), std::vector<std::string>{"c1"});
  one["status"]["capacity"] = {{"cpu", "4"}};
  one["status"]["allocatable"] = {{"cpu", "4"}};
  EXPECT_EQ(hub.put(one), Keys{"in-a/by-cpu"});
  one["metadata"]["labels"].erase("env");
  EXPECT_EQ(hub.put(one), Keys{"in-a/by-env"});
  EXPECT_EQ(hub.selected("in-a/by-env"), std::vector<std::string>{});
}

TEST_F(FleetTest, SetsAndBindingsRunTheirPlacements) {
  EXPECT_EQ(hub.remove(fleetadm::test::binding_object("in-a", "a")), Keys{"in-a/p"});
  EXPECT_EQ(hub.put(fleetadm::test::binding_object("in-a", "a")), Keys{"in-a/p"});
  EXPECT_EQ(hub.put(fleetadm::test::binding_object("in-a", "a")), Keys{}) << "nothing changed";
  EXPECT_EQ(hub.put(fleetadm::test::set_object("b", {{"selectorType", "LabelSelector"}})), Keys{"in-b/p"});
  EXPECT_EQ(hub.remove(fleetadm::test::set_object("b")), Keys{"in-b/p"});
  hub.put(fleetadm::test::placement_object("in-a", "q", {{"clusterSets", {"other"}}}));
  EXPECT_EQ(hub.put(fleetadm::test::set_object("a", {{"selectorType", "LabelSelector"}})), Keys{"in-a/p"})
      << "q asks for another set";
}

TEST_F(FleetTest, ADecisionRunsItsOwnPlacement) {
  EXPECT_EQ(hub.put(fleetadm::test::decision_object("in-a", "p-decision-1", "p", {"c1"})), Keys{"in-a/p"});
  EXPECT_EQ(hub.put(fleetadm::test::decision_object("in-a", "p-decision-1", "q", {"c1"})), (Keys{"in-a/p", "in-a/q"}));
  EXPECT_EQ(hub.remove(fleetadm::test::decision_object("in-a", "p-decision-1", "q", {"c1"})), Keys{"in-a/q"});
  EXPECT_EQ(hub.put(fleetadm::test::decision_object("in-a", "loose", "", {"c1"})), Keys{});
}

TEST_F(FleetTest, AScoreRunsThePlacementsThatReadIt) {
  hub.put(by_addon("in-a", "scored"));
  hub.put(by_addon("in-b", "scored"));
  const Json score = parsed(
      R"({"kind":"AddOnPlacementScore","metadata":{"name":"demo","namespace":"c1"},"status":{"scores":[{"name":"s","value":5}]}})");
  EXPECT_EQ(hub.put(score), Keys{}) << "its cluster is not known";
  hub.put(member("c1", "a"));
  EXPECT_EQ(hub.put(score), Keys{"in-a/scored"}) << "P73";
  const Json other = parsed(R"({"kind":"AddOnPlacementScore","metadata":{"name":"other","namespace":"c1"}})");
  EXPECT_EQ(hub.put(other), Keys{});
  EXPECT_EQ(hub.remove(score), Keys{"in-a/scored"});
}

TEST_F(FleetTest, WhatIsBeingWrittenCountsForTheBalanceOfOthers) {
  for (const char* name : {"c1", "c2", "c3"}) hub.put(member(name, "a"));
  const Json spec = parsed(R"({"numberOfClusters":1,"prioritizerPolicy":{"mode":"Exact","configurations":[
      {"scoreCoordinate":{"type":"BuiltIn","builtIn":"Balance"},"weight":1}]}})");
  for (const char* name : {"x", "y", "z"}) hub.put(fleetadm::test::placement_object("in-a", name, spec));
  using Names = std::vector<std::string>;
  const auto reserve = [&](const std::string& key) {
    const auto pass = hub.fleet.run(key, test_now());
    hub.fleet.reserve(key, &*pass);
    return pass->selected;
  };
  EXPECT_EQ(reserve("in-a/x"), Names{"c1"});
  EXPECT_EQ(reserve("in-a/x"), Names{"c1"}) << "a placement's own reservation does not push it away";
  EXPECT_EQ(reserve("in-a/y"), Names{"c2"});
  hub.put(fleetadm::test::decision_object("in-a", "x-decision-1", "x", {}));
  EXPECT_EQ(hub.selected("in-a/z"), Names{"c3"}) << "created, but its entries are still on their way";
  hub.put(fleetadm::test::decision_object("in-a", "x-decision-1", "x", {"c1"}));
  EXPECT_EQ(hub.selected("in-a/z"), Names{"c3"}) << "seen: counted once, not twice";
  hub.put(fleetadm::test::decision_object("in-a", "x-decision-1", "x", {"c3"}));
  EXPECT_EQ(hub.selected("in-a/z"), Names{"c1"});
  hub.fleet.reserve("in-a/y", nullptr);
  EXPECT_EQ(hub.selected("in-a/y"), Names{"c1"}) << "the write failed: c1 and c2 are free";
}

TEST_F(FleetTest, AGonePlacementRunsNoMore) {
  const Json placement = fleetadm::test::placement_object("in-a", "p", Json::object());
  EXPECT_EQ(hub.fleet.placements(), (std::vector<std::string>{"in-a/p", "in-b/p"}));
  EXPECT_EQ(hub.remove(placement), Keys{});
  EXPECT_FALSE(hub.fleet.run("in-a/p", test_now()).has_value());
  EXPECT_EQ(hub.put(member("c1", "a")), Keys{});
}

TEST_F(FleetTest, ChangesThatWaitTogetherAreTakenInOrder) {
  const auto cached = [](const Json& object) {
    return std::make_shared<const kube::CachedObject>(kube::object_key(object), object);
  };
  hub.fleet.note(SchedulerCache::Kind::kCluster, nullptr, cached(member("c1", "a")));
  hub.fleet.note(SchedulerCache::Kind::kCluster, cached(member("c1", "a")), cached(member("c1", "b")));
  EXPECT_EQ(hub.fleet.catch_up(), (Keys{"in-a/p", "in-b/p"}));
  EXPECT_EQ(hub.selected("in-b/p"), std::vector<std::string>{"c1"});
  EXPECT_EQ(hub.fleet.catch_up(), Keys{});
}

}  // namespace
}  // namespace fleetadm::placement
