#include "core/placement/hub/plan.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

#include "tests/unit/core/placement/fixtures.h"

namespace fleetadm::placement {
namespace {

using fleetadm::test::test_now;

Json owner() {
  Json placement = fleetadm::test::placement_object("team", "p", Json::object());
  placement["metadata"]["uid"] = "u-1";
  return placement;
}

Json known(const std::string& name, const std::vector<std::string>& clusters, const std::string& index = "0",
           const std::string& group = "") {
  Json object = fleetadm::test::decision_object("team", name, "p", clusters);
  object["metadata"]["labels"][std::string(kGroupIndexLabel)] = index;
  object["metadata"]["labels"][std::string(kGroupNameLabel)] = group;
  return object;
}

Pass wanting(const std::vector<WantedDecision>& decisions) {
  Pass pass;
  pass.decisions = decisions;
  return pass;
}

std::string names(const std::vector<Write>& writes) {
  std::string out;
  for (const Write& write : writes) {
    out += out.empty() ? "" : " ";
    out += std::string(1, "CLED"[static_cast<int>(write.kind)]) + ":" + write.decision;
  }
  return out;
}

TEST(PlacementPlan, NothingChangedWritesNothing) {
  const std::map<std::string, Json> existing{{"p-decision-1", known("p-decision-1", {"a", "b"})}};
  EXPECT_TRUE(plan_writes(owner(), wanting({{"p-decision-1", "", 0, {"a", "b"}}}), existing).empty());
  Json bare = known("p-decision-1", {});
  bare.erase("status");
  EXPECT_TRUE(plan_writes(owner(), wanting({{"p-decision-1", "", 0, {}}}), {{"p-decision-1", bare}}).empty())
      << "absent is empty";
}

TEST(PlacementPlan, CreatesWithLabelsAndOwner) {
  const auto writes = plan_writes(owner(), wanting({{"p-decision-1", "canary", 3, {"a"}}}), {});
  ASSERT_EQ(names(writes), "C:p-decision-1 E:p-decision-1");
  const Json& object = writes[0].object;
  EXPECT_EQ(label_of(object, "cluster.open-cluster-management.io/placement"), "p");
  EXPECT_EQ(label_of(object, kGroupIndexLabel), "3");
  EXPECT_EQ(label_of(object, kGroupNameLabel), "canary");
  const Json& reference = list_at(object, {"metadata", "ownerReferences"})[0];
  EXPECT_EQ(str(reference, {"uid"}), "u-1");
  EXPECT_EQ(str(reference, {"apiVersion"}), "cluster.open-cluster-management.io/v1beta1");
  EXPECT_TRUE(flag(reference, {"controller"}) && flag(reference, {"blockOwnerDeletion"}));
  EXPECT_EQ(writes[1].clusters, std::vector<std::string>{"a"});
}

TEST(PlacementPlan, CorrectsLabelsAndDeletesTheSurplusLast) {
  Json foreign = known("p-decision-1", {"a"}, "7");
  foreign["metadata"]["labels"]["team"] = "x";
  Pass pass = wanting({{"p-decision-1", "", 0, {"a", "c"}}});
  pass.surplus = {"p-decision-2"};
  const auto writes = plan_writes(owner(), pass, {{"p-decision-1", foreign}, {"p-decision-2", known("p-decision-2", {"c"})}});
  ASSERT_EQ(names(writes), "L:p-decision-1 E:p-decision-1 D:p-decision-2");
  EXPECT_EQ(writes[0].object, (Json{{std::string(kGroupIndexLabel), "0"}, {"team", nullptr}}));
}

TEST(PlacementPlan, LabelsAreCorrectedWithTheEntriesOrAlone) {
  const auto writes = [](const Json& object) {
    return names(plan_writes(owner(), wanting({{"p-decision-1", "", 0, {"a"}}}), {{"p-decision-1", object}}));
  };
  EXPECT_EQ(writes(known("p-decision-1", {"a"}, "3")), "L:p-decision-1") << "P68";
  EXPECT_EQ(writes(known("p-decision-1", {"b"}, "3")), "L:p-decision-1 E:p-decision-1") << "P69, in one pass";
  EXPECT_EQ(writes(known("p-decision-1", {"a"}, "0")), "") << "P71";
}

TEST(PlacementPlan, ShiftToTheRightFillsTheLaterObjectFirst) {
  const std::map<std::string, Json> existing{{"p-decision-1", known("p-decision-1", {"b", "c"})},
                                             {"p-decision-2", known("p-decision-2", {"d"})}};
  const auto writes =
      plan_writes(owner(), wanting({{"p-decision-1", "", 0, {"a", "b"}}, {"p-decision-2", "", 0, {"c", "d"}}}), existing);
  EXPECT_EQ(names(writes), "E:p-decision-2 E:p-decision-1") << "P66 without its hole";
}

// Plays the writes and checks after each: what is selected before and after is selected in between.
void expect_no_hole(const std::map<std::string, Json>& existing, const std::vector<WantedDecision>& wanted,
                    const std::string& what) {
  std::map<std::string, std::vector<std::string>> state;
  std::set<std::string> before;
  for (const auto& [name, object] : existing) {
    state[name] = decode_decision(object).clusters;
    before.insert(state[name].begin(), state[name].end());
  }
  std::set<std::string> stay;
  Pass pass = wanting(wanted);
  for (const WantedDecision& one : wanted) {
    for (const std::string& cluster : one.clusters) {
      if (before.contains(cluster)) stay.insert(cluster);
    }
  }
  for (const auto& [name, object] : existing) {
    if (std::none_of(wanted.begin(), wanted.end(), [&](const auto& one) { return one.name == name; }))
      pass.surplus.push_back(name);
  }
  for (const Write& write : plan_writes(owner(), pass, existing)) {
    if (write.kind == Write::Kind::kCreate) state[write.decision] = {};
    if (write.kind == Write::Kind::kEntries) state[write.decision] = write.clusters;
    if (write.kind == Write::Kind::kDelete) state.erase(write.decision);
    std::set<std::string> now;
    for (const auto& [name, clusters] : state) now.insert(clusters.begin(), clusters.end());
    for (const std::string& cluster : stay)
      ASSERT_TRUE(now.contains(cluster)) << what << ": " << cluster << " is unselected for a moment";
  }
  std::map<std::string, std::vector<std::string>> end;
  for (const WantedDecision& one : wanted) end[one.name] = one.clusters;
  ASSERT_EQ(state, end) << what;
}

TEST(PlacementPlan, ObjectsThatExchangeClustersHoldBothForAMoment) {
  const std::map<std::string, Json> existing{{"p-decision-1", known("p-decision-1", {"a"})},
                                             {"p-decision-2", known("p-decision-2", {"b"})}};
  expect_no_hole(existing, {{"p-decision-1", "", 0, {"b"}}, {"p-decision-2", "", 0, {"a"}}}, "swap");
}

TEST(PlacementPlan, NeverAHoleWhateverMoves) {
  std::mt19937 random(20260301);
  const auto pick = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  for (int round = 0; round < 400; ++round) {
    const auto deal = [&](int objects) {
      std::vector<std::vector<std::string>> dealt(static_cast<std::size_t>(objects));
      for (int i = 0; i < 12; ++i) {
        if (objects > 0 && pick(4) != 0) dealt[static_cast<std::size_t>(pick(objects))].push_back("c" + std::to_string(i));
      }
      return dealt;
    };
    std::map<std::string, Json> existing;
    int number = 0;
    for (const auto& clusters : deal(pick(5))) {
      const std::string name = "p-decision-" + std::to_string(++number);
      existing.emplace(name, known(name, clusters));
    }
    std::vector<WantedDecision> wanted;
    number = 0;
    for (const auto& clusters : deal(1 + pick(4))) wanted.push_back({"p-decision-" + std::to_string(++number), "", 0, clusters});
    expect_no_hole(existing, wanted, "round " + std::to_string(round));
    if (HasFatalFailure()) return;
  }
}

TEST(PlacementPlan, StatusKeepsWhatItDoesNotKnowAndTheTimeOfAnUnchangedCondition) {
  Json placement = owner();
  placement["status"] = {{"lastScoreUpdateTime", "2026-01-01T00:00:00Z"},
                         {"conditions",
                          {{{"type", "PlacementSatisfied"},
                            {"status", "True"},
                            {"reason", "Old"},
                            {"message", ""},
                            {"lastTransitionTime", "2026-01-01T00:00:00Z"}}}}};
  Pass pass;
  pass.selected_count = 2;
  pass.groups = {{0, "", {"p-decision-1"}, 2}};
  pass.conditions = {{"PlacementMisconfigured", "False", "Succeedconfigured", "m"},
                     {"PlacementSatisfied", "True", "AllDecisionsScheduled", "n"}};
  const Json status = wanted_status(placement, pass, test_now());
  EXPECT_EQ(str(status, {"lastScoreUpdateTime"}), "2026-01-01T00:00:00Z");
  EXPECT_EQ(num(status, {"numberOfSelectedClusters"}), 2);
  EXPECT_EQ(num(list_at(status, {"decisionGroups"})[0], {"clusterCount"}), 2);
  ASSERT_EQ(list_at(status, {"conditions"}).size(), 2U);
  EXPECT_EQ(str(list_at(status, {"conditions"})[0], {"lastTransitionTime"}), "2026-01-01T00:00:00Z");
  EXPECT_EQ(str(list_at(status, {"conditions"})[0], {"reason"}), "AllDecisionsScheduled");
  EXPECT_EQ(str(list_at(status, {"conditions"})[1], {"lastTransitionTime"}), format_time(test_now()));
}

}  // namespace
}  // namespace fleetadm::placement
