// Objects of files and hubs, and what is simulated with them.
#include "core/placement/engine/object_set.h"

#include <gtest/gtest.h>

#include "core/placement/engine/simulate.h"
#include "tests/unit/core/placement/fixtures.h"

namespace fleetadm::placement {
namespace {

using fleetadm::test::parsed;
using fleetadm::test::test_now;

constexpr const char* kVersion = "cluster.open-cluster-management.io/v1";

Json versioned(Json object) {
  object["apiVersion"] = kVersion;
  return object;
}

TEST(PlacementObjects, KindsAreOfTheGroup) {
  EXPECT_EQ(object_kind(versioned({{"kind", "ManagedCluster"}})), ObjectKind::kCluster);
  EXPECT_FALSE(object_kind({{"kind", "ManagedCluster"}, {"apiVersion", "example.com/v1"}}).has_value());
  EXPECT_FALSE(object_kind(versioned({{"kind", "ConfigMap"}})).has_value());
  EXPECT_FALSE(object_kind(Json::array()).has_value());
}

TEST(PlacementObjects, DefaultsOfTheApiServer) {
  Json placement = parsed(R"({"spec":{"prioritizerPolicy":{"configurations":[
    {"scoreCoordinate":{"builtIn":"Steady"}},{"scoreCoordinate":{"type":"AddOn"},"weight":0},{}]}}})");
  apply_placement_defaults(placement);
  EXPECT_EQ(dump_json(object_at(placement, {"spec", "prioritizerPolicy"})),
            R"({"configurations":[{"scoreCoordinate":{"builtIn":"Steady","type":"BuiltIn"},"weight":1},)"
            R"({"scoreCoordinate":{"type":"AddOn"},"weight":0},{"weight":1}],"mode":"Additive"})");
  for (const char* odd : {"null", "[]", "{}", R"({"spec":3})", R"({"spec":{"prioritizerPolicy":[]}})"}) {
    Json other = parsed(odd);
    apply_placement_defaults(other);
    EXPECT_EQ(dump_json(other), dump_json(parsed(odd)));
  }
}

Objects fleet() {
  Objects objects;
  objects.put(versioned(fleetadm::test::everything_set("all")));
  objects.put(versioned(fleetadm::test::binding_object("apps", "all")));
  for (const char* name : {"c1", "c2"}) objects.put(versioned(fleetadm::test::cluster_object(name)));
  for (const char* name : {"a", "b"})
    objects.put(versioned(fleetadm::test::placement_object("apps", name, {{"numberOfClusters", 1}})));
  return objects;
}

TEST(Simulate, WithoutDecisionsTodayIsWhatWouldBeDecided) {
  const Objects today = fleet();
  const std::vector<Objects::Key> both = {{"apps", "a"}, {"apps", "b"}};
  const auto unchanged = simulate(today, today, both, test_now());
  ASSERT_EQ(unchanged.size(), 2U);
  EXPECT_TRUE(unchanged[0].against_baseline);
  EXPECT_EQ(unchanged[0].kept, std::vector<std::string>{"c1"});
  EXPECT_EQ(unchanged[1].kept, std::vector<std::string>{"c2"}) << "the second sees what the first got";
  Objects changed = today;
  ASSERT_TRUE(changed.remove(ObjectKind::kCluster, "", "c2"));
  const auto moved = simulate(today, changed, both, test_now());
  EXPECT_EQ(moved[0].kept, std::vector<std::string>{"c1"});
  EXPECT_EQ(moved[1].added, std::vector<std::string>{"c1"});
  EXPECT_EQ(moved[1].removed, std::vector<std::string>{"c2"});
}

TEST(Simulate, APassThatDecidesNothingMovesNothing) {
  Objects today = fleet();
  today.put(versioned(fleetadm::test::decision_object("apps", "a-decision-1", "a", {"c2"})));
  Objects changed = today;
  changed.put(versioned(fleetadm::test::set_object("all", {{"selectorType", "Unknown"}})));
  const auto failed = simulate(today, changed, {{"apps", "a"}, {"apps", "nothing"}}, test_now());
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_FALSE(failed[0].pass.failure.empty());
  EXPECT_EQ(failed[0].kept, std::vector<std::string>{"c2"});
  EXPECT_TRUE(failed[0].removed.empty());
}

}  // namespace
}  // namespace fleetadm::placement
