// Names whose typo would silently select nothing, or leave out a canary.
#include "commands/framework/references.h"

#include <gtest/gtest.h>

#include "commands/placement/placement.h"
#include "core/api/kinds.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

class References : public ::testing::Test {
 protected:
  References() {
    register_placement(registry);
    api->put(api::managed_cluster_sets(), {{"apiVersion", api::managed_cluster_sets().api_version()},
                                           {"kind", "ManagedClusterSet"},
                                           {"metadata", {{"name", "prod"}}}});
    Json groups = Json::array({{{"groupName", "canary"}}});
    api->put(api::placements(), {{"apiVersion", api::placements().api_version()},
                                 {"kind", "Placement"},
                                 {"metadata", {{"name", "web"}, {"namespace", "default"}}},
                                 {"spec", {{"decisionStrategy", {{"groupStrategy", {{"decisionGroups", groups}}}}}}}});
  }
  Result<Report> create(const std::string& sets, bool allow_missing = false) {
    std::vector<std::pair<std::string, std::string>> flags{{"clustersets", sets}};
    if (allow_missing) flags.emplace_back("allow-missing", "true");
    return testkit::run_command(registry, "placement create", context, flags, {"p"});
  }

  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make();
  testkit::FakeContext context{api->client()};
  Registry registry;
};

TEST_F(References, AMisspelledClusterSetIsRefused) {
  const auto refused = create("prodd");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().category, Category::kNotFound);
  EXPECT_EQ(refused.error().message, "cluster set \"prodd\" does not exist");
  EXPECT_NE(refused.error().hint.find("did you mean \"prod\"?"), std::string::npos) << refused.error().hint;
  EXPECT_NE(refused.error().hint.find("--allow-missing"), std::string::npos);
  EXPECT_FALSE(api->get(api::placements(), "default", "p"));
  EXPECT_TRUE(create("prodd", true));
}

TEST_F(References, ASetThatMayNotBeReadIsNoted) {
  api->fail_next("get", "managedclustersets", 403, "Forbidden");
  const auto made = create("prod");
  ASSERT_TRUE(made.has_value()) << made.error().message;
  ASSERT_FALSE(made->notes.empty());
  EXPECT_NE(made->notes.front().find("could not be checked"), std::string::npos);
}

TEST_F(References, AMisspelledDecisionGroupIsRefused) {
  const kube::Client hub = api->client();
  EXPECT_TRUE(check_decision_groups(hub, "default", "web", {"canary"}));
  EXPECT_TRUE(check_decision_groups(hub, "default", "web", {}));
  const Status refused = check_decision_groups(hub, "default", "web", {"canray"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().category, Category::kNotFound);
  EXPECT_EQ(refused.error().message, "placement default/web has no decision group \"canray\" (it has canary)");
  EXPECT_NE(refused.error().hint.find("did you mean \"canary\"?"), std::string::npos);
  // Another scheduler's groups are known from the status alone.
  Json placement = *api->get(api::placements(), "default", "web");
  at_or_make(placement, {"status", "decisionGroups"}) = Json::array({{{"decisionGroupName", "early"}}});
  api->put(api::placements(), placement);
  EXPECT_TRUE(check_decision_groups(hub, "default", "web", {"early"}));
}

}  // namespace
}  // namespace fleetadm::commands
