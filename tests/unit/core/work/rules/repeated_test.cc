// Works that name one object more than once.
#include "core/work/rules/repeated.h"

#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/work/plan/preview.h"
#include "core/work/rules/conditions.h"
#include "tests/unit/core/work/fleet.h"

namespace fleetadm::work {
namespace {

using testing::config_map;
using testing::eventually;
using testing::Fleet;
using testing::parsed;
using testing::work_of;

std::vector<Manifest> decoded(const std::string& manifests, const std::string& more = "{}") {
  return decode_manifests(work_of("w1", manifests, more), guessed_resource);
}

std::string by_strategy(const std::string& strategy) {
  return R"({"manifestConfigs": [{"resourceIdentifier": {"group": "", "resource": "configmaps", "namespace": "default",
             "name": "a"}, "updateStrategy": {"type": ")" +
         strategy + R"("}}]})";
}

std::string space(const std::string& metadata) {
  return R"({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n")" + metadata + "}}";
}

const std::string kTwoMaps = "[" + config_map("a", "1") + "," + config_map("b", "1") + "," + config_map("a", "2") + "]";

TEST(RepeatedManifests, TheStrategySaysWhichOneStands) {
  for (const char* strategy : {"Update", "ServerSideApply"}) {
    const std::vector<Manifest> manifests = decoded(kTwoMaps, by_strategy(strategy));
    EXPECT_EQ(manifests[0].same_as, std::optional<std::size_t>(2)) << strategy;
    EXPECT_FALSE(manifests[1].same_as || manifests[2].same_as) << strategy;
    EXPECT_EQ(str(manifests[2].object, {"data", "v"}), "2") << strategy;
  }
  const std::vector<Manifest> created = decoded(kTwoMaps, by_strategy("CreateOnly"));
  EXPECT_EQ(created[2].same_as, std::optional<std::size_t>(0));
  EXPECT_FALSE(created[0].same_as);
}

TEST(RepeatedManifests, WhatTheStrategyKeepsOfTheEarlierOneIsKept) {
  const std::vector<Manifest> manifests = decoded("[" + space(R"(, "labels": {"a": "1", "b": "1", "c": "1", "d-": ""})") + "," +
                                                  space(R"(, "labels": {"b": "2", "c-": "", "d": "2"})") + "," + space("") + "]");
  EXPECT_EQ(manifests[0].same_as, std::optional<std::size_t>(2));
  EXPECT_EQ(manifests[1].same_as, std::optional<std::size_t>(2));
  EXPECT_EQ(object_at(manifests[2].object, {"metadata", "labels"}), parsed(R"({"a": "1", "b": "2", "c-": "", "d": "2"})"));
}

TEST(RepeatedManifests, OfTwoVersionsTheLaterOneStandsAlone) {
  const std::vector<Manifest> manifests = decoded(
      R"([{"apiVersion": "x.io/v1", "kind": "Y", "metadata": {"name": "n", "labels": {"a": "1"}}, "spec": {"a": 1}},
          {"apiVersion": "x.io/v2", "kind": "Y", "metadata": {"name": "n"}, "spec": {"b": 1}}])");
  EXPECT_EQ(manifests[0].same_as, std::optional<std::size_t>(1));
  EXPECT_EQ(object_at(manifests[1].object, {"spec"}), parsed(R"({"b": 1})"));
  EXPECT_TRUE(object_at(manifests[1].object, {"metadata", "labels"}).empty());
}

TEST(RepeatedManifests, WhatCannotBeAppliedStandsForItself) {
  const std::vector<Manifest> manifests = decoded(R"([{"kind": "ConfigMap"}, {"kind": "ConfigMap"}, 1])");
  for (const Manifest& manifest : manifests) EXPECT_FALSE(manifest.same_as) << manifest.ordinal;
}

TEST(RepeatedManifests, RestAndAreReportedByOrdinal) {
  Fleet fleet;
  fleet.hub->put(api::manifest_works(), work_of("w1", kTwoMaps));
  fleet.start_agent();
  ASSERT_TRUE(eventually([&] { return fleet.is_applied("w1"); }));
  testing::settle(*fleet.hub, *fleet.spoke);
  const auto writes_of_maps = [&] {
    int count = 0;
    for (const testkit::ApiCall& call : fleet.spoke->writes()) count += call.plural == "configmaps" ? 1 : 0;
    return count;
  };
  EXPECT_EQ(writes_of_maps(), 2);
  // More rounds, on both sides' account.
  for (int round = 0; round < 3; ++round) {
    const Json patch{{"metadata", {{"labels", {{"round", std::to_string(round)}}}}}};
    ASSERT_TRUE(fleet.hub->client().patch(api::manifest_works(), testing::kCluster, "w1", kube::PatchType::kMerge, patch));
    fleet.spoke->put(kube::resources::config_maps(), *fleet.config_map("a"));
    testing::settle(*fleet.hub, *fleet.spoke);
  }
  EXPECT_EQ(writes_of_maps(), 2) << "a work at rest writes nothing";
  EXPECT_EQ(str(*fleet.config_map("a"), {"data", "v"}), "2");

  const Json work = *fleet.work("w1");
  const Json& entries = list_at(work, {"status", "resourceStatus", "manifests"});
  ASSERT_EQ(entries.size(), 3U);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(num(entries[i], {"resourceMeta", "ordinal"}), static_cast<std::int64_t>(i));
    EXPECT_TRUE(is_true(list_at(entries[i], {"conditions"}), "Applied")) << i;
    EXPECT_TRUE(is_true(list_at(entries[i], {"conditions"}), "Available")) << i;
  }
  EXPECT_EQ(list_at(*fleet.applied_work("w1"), {"status", "appliedResources"}).size(), 2U);
}

TEST(RepeatedManifests, AreTakenAwayOnce) {
  Fleet fleet;
  fleet.hub->put(api::manifest_works(), work_of("w1", kTwoMaps));
  fleet.start_agent();
  ASSERT_TRUE(eventually([&] { return fleet.is_applied("w1"); }));
  // One of the two goes: the object is still wanted. Then the other one.
  const auto change = [&](const std::string& manifests) {
    const Json patch{{"spec", work_of("w1", manifests)["spec"]}};
    ASSERT_TRUE(fleet.hub->client().patch(api::manifest_works(), testing::kCluster, "w1", kube::PatchType::kMerge, patch));
  };
  change("[" + config_map("a", "1") + "," + config_map("b", "1") + "]");
  EXPECT_TRUE(eventually([&] { return str(fleet.config_map("a").value_or(Json()), {"data", "v"}) == "1"; }));
  change("[" + config_map("b", "1") + "]");
  EXPECT_TRUE(eventually([&] { return !fleet.config_map("a"); }));
  EXPECT_TRUE(fleet.config_map("b"));
}

}  // namespace
}  // namespace fleetadm::work
