// unjoin: its plan, and a cluster that does not answer.
#include <gtest/gtest.h>

#include "commands/fleet/fleet.h"
#include "core/api/kinds.h"
#include "kubeclient/base/joined.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

class UnjoinCommand : public testing::Test {
 protected:
  using Flags = std::vector<std::pair<std::string, std::string>>;

  UnjoinCommand() {
    register_unjoin(registry);
    context.connect = [this](const kube::RestConfig&) { return hub->client(); };
    hub->put(api::managed_clusters(), {{"metadata", {{"name", "c1"}}}});
    hub->put(
        api::manifest_works(),
        {{"metadata",
          {{"name", "web"}, {"namespace", "c1"}, {"finalizers", {"cluster.open-cluster-management.io/manifest-work-cleanup"}}}}});
  }
  Result<Report> run(const Flags& flags) { return testkit::run_command(registry, "unjoin", context, flags, {}); }

  std::shared_ptr<testkit::FakeApi> hub = testkit::FakeApi::make();
  std::shared_ptr<testkit::FakeApi> spoke = testkit::FakeApi::make();
  testkit::FakeContext context{spoke->client()};
  Registry registry;
};

TEST_F(UnjoinCommand, ThePlanListsWhatBlocksAndChangesNothing) {
  const auto plan = run({{"hub-context", "hub"}, {"cluster-name", "c1"}, {"plan", "true"}});
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_EQ(str(plan->data, {"kind"}), "RemovalPlan");
  ASSERT_EQ(list_at(plan->data, {"blockers"}).size(), 1U);
  EXPECT_EQ(str(plan->data["blockers"][0], {"waitsFor"}), "the agent of c1");
  EXPECT_NE(joined(plan->notes, "\n").find("1. ManifestWork c1/web waits for the agent of c1"), std::string::npos);
  EXPECT_TRUE(hub->writes().empty());
  EXPECT_TRUE(spoke->writes().empty());
}

TEST_F(UnjoinCommand, AClusterThatDoesNotAnswerIsLeftOnTheHubAloneWithForce) {
  spoke->on_request([](const testkit::ApiCall&) -> std::optional<kube::Response> {
    kube::Response away;
    away.status = 503;
    away.body = R"({"kind":"Status","status":"Failure","reason":"ServiceUnavailable","message":"away","code":503})";
    return away;
  });
  const Flags flags{{"hub-context", "hub"}, {"cluster-name", "c1"}, {"allow-removals", "true"}};
  EXPECT_FALSE(run(flags).has_value()) << "only with --force";
  EXPECT_TRUE(hub->writes().empty());
  Flags forced = flags;
  forced.emplace_back("force", "true");
  const auto report = run(forced);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_FALSE(hub->get(api::managed_clusters(), "", "c1"));
  EXPECT_TRUE(hub->all(api::manifest_works()).empty());
  EXPECT_EQ(string_list_at(report->data, {"left", "works"}), std::vector<std::string>{"web"});
  const std::string notes = joined(report->notes, "\n");
  EXPECT_NE(notes.find("what it applied of 1 work (web)"), std::string::npos) << notes;
  EXPECT_NE(notes.find("fleetadm unjoin --force --context CONTEXT_OF_THE_CLUSTER"), std::string::npos) << notes;
  forced.erase(forced.begin() + 1);
  EXPECT_EQ(run(forced).error().category, Category::kUsage) << "nobody knows its name";
}

}  // namespace
}  // namespace fleetadm::commands
