#include "core/sandbox/controllers/role_aggregation.h"

#include <gtest/gtest.h>

#include "tests/unit/core/sandbox/controllers/lab.h"

namespace fleetadm::sandbox {
namespace {

class RoleAggregationTest : public ControllerLab {
 protected:
  void role(const std::string& name, const char* resource, const char* label) {
    make("rbac.authorization.k8s.io", "clusterroles",
         {{"metadata", {{"name", name}, {"labels", {{label, "true"}}}}}, {"rules", Json::array({rule(resource)})}});
  }
  static Json rule(const std::string& resource) { return {{"verbs", {"get"}}, {"apiGroups", {""}}, {"resources", {resource}}}; }
  void aggregated(const std::string& name, const char* label) {
    make("rbac.authorization.k8s.io", "clusterroles",
         {{"metadata", {{"name", name}}},
          {"aggregationRule", {{"clusterRoleSelectors", Json::array({{{"matchLabels", {{label, "true"}}}}})}}}});
  }
  Json stored(const std::string& name) {
    return engine().get(*kind("rbac.authorization.k8s.io", "clusterroles"), "", name).value();
  }
  std::string resources(const std::string& name) {
    std::string all;
    const Json role = stored(name);
    for (const Json& one : list_at(role, {"rules"})) {
      for (const auto& resource : string_list_at(one, {"resources"})) all += resource + " ";
    }
    return all;
  }
  void sync() { aggregation_.sync(context()); }

  RoleAggregation aggregation_;
};

TEST_F(RoleAggregationTest, FollowsRolesThatComeChangeAndGo) {
  aggregated("sum", "example.com/part");
  role("b", "pods", "example.com/part");
  role("other", "nodes", "example.com/elsewhere");
  sync();
  EXPECT_EQ(resources("sum"), "pods ");
  role("a", "secrets", "example.com/part");
  sync();
  EXPECT_EQ(resources("sum"), "secrets pods ");
  const auto roles = kind("rbac.authorization.k8s.io", "clusterroles");
  change(context(), *roles, stored("a"), as_controller("test"),
         [](Json& object) { object["rules"] = Json::array({rule("services")}); });
  sync();
  EXPECT_EQ(resources("sum"), "services pods ");
  change(context(), *roles, stored("a"), as_controller("test"), [](Json& object) { erase_at(object, {"metadata", "labels"}); });
  sync();
  EXPECT_EQ(resources("sum"), "pods ");
  ASSERT_TRUE(remove(context(), *roles, stored("b")));
  sync();
  EXPECT_EQ(resources("sum"), "");
}

TEST_F(RoleAggregationTest, PutsBackRulesThatSomebodyElseWrote) {
  aggregated("sum", "example.com/part");
  role("a", "pods", "example.com/part");
  sync();
  change(context(), *kind("rbac.authorization.k8s.io", "clusterroles"), stored("sum"), as_controller("test"),
         [](Json& object) { object["rules"] = Json::array({rule("secrets")}); });
  sync();
  EXPECT_EQ(resources("sum"), "pods ");
}

TEST_F(RoleAggregationTest, PassesRulesOnThroughAggregatedRoles) {
  aggregated("a-outer", "example.com/outer");
  make("rbac.authorization.k8s.io", "clusterroles",
       {{"metadata", {{"name", "inner"}, {"labels", {{"example.com/outer", "true"}}}}},
        {"aggregationRule", {{"clusterRoleSelectors", Json::array({{{"matchLabels", {{"example.com/part", "true"}}}}})}}}});
  role("part", "pods", "example.com/part");
  sync();
  sync();  // as the write of "inner" asks for
  EXPECT_EQ(resources("a-outer"), "pods ");
}

TEST_F(RoleAggregationTest, WritesNothingToAClusterThatHasJustStarted) {
  const auto before = engine().store().revision();
  sync();
  EXPECT_EQ(engine().store().revision(), before);
}

TEST_F(RoleAggregationTest, LeavesRolesThatOnlyMentionTheField) {
  make("rbac.authorization.k8s.io", "clusterroles",
       {{"metadata", {{"name", "plain"}, {"annotations", {{"note", "\"aggregationRule\""}, {"aggregationRule", "x"}}}}},
        {"rules", Json::array({rule("pods")})}});
  sync();
  EXPECT_EQ(resources("plain"), "pods ");
}

}  // namespace
}  // namespace fleetadm::sandbox
