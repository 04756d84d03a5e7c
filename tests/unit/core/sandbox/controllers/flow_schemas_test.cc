#include "tests/unit/core/sandbox/controllers/lab.h"

namespace fleetadm::sandbox {
namespace {

constexpr std::string_view kGroup = "flowcontrol.apiserver.k8s.io";

class FlowSchemaStatus : public ControllerLab {
 protected:
  Json schema(const std::string& name) { return *engine().get(*kind(kGroup, "flowschemas"), "", name); }
  Json synced(const std::string& name) {
    sync_flow_schema(context(), name);
    return schema(name);
  }
};

TEST_F(FlowSchemaStatus, OfANewClusterIsCompleteFromTheStart) {
  for (const Json& one : engine().list(*kind(kGroup, "flowschemas"))) {
    EXPECT_EQ(condition(one, "Dangling"), "False Found") << name_of(one);
    EXPECT_EQ(resource_version_of(synced(name_of(one))), resource_version_of(one)) << "nothing new, nothing written";
  }
}

TEST_F(FlowSchemaStatus, FollowsThePriorityLevel) {
  set_time("2026-01-01T00:00:00Z");
  make(kGroup, "flowschemas",
       {{"metadata", {{"name", "mine"}}},
        {"spec", {{"matchingPrecedence", 1000}, {"priorityLevelConfiguration", {{"name", "slow"}}}, {"rules", Json::array()}}}});
  EXPECT_EQ(condition(synced("mine"), "Dangling"), "True NotFound");
  make(
      kGroup, "prioritylevelconfigurations",
      {{"metadata", {{"name", "slow"}}},
       {"spec", {{"type", "Limited"}, {"limited", {{"nominalConcurrencyShares", 1}, {"limitResponse", {{"type", "Reject"}}}}}}}});
  pass(std::chrono::minutes(1));
  const Json found = synced("mine");
  EXPECT_EQ(condition(found, "Dangling"), "False Found");
  const auto& conditions = list_at(found, {"status", "conditions"});
  ASSERT_EQ(conditions.size(), 1U);
  EXPECT_EQ(str(conditions.front(), {"lastTransitionTime"}), "2026-01-01T00:01:00Z");
  EXPECT_EQ(str(conditions.front(), {"message"}),
            "This FlowSchema references the PriorityLevelConfiguration object named \"slow\" and it exists");
}

}  // namespace
}  // namespace fleetadm::sandbox
