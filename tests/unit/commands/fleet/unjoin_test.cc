// unjoin: its plan, and a cluster that does not answer.
#include <gtest/gtest.h>

#include "commands/fleet/fleet.h"
#include "core/api/kinds.h"
#include "kubeclient/base/joined.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

kube::Response away() {
  kube::Response answer;
  answer.status = 503;
  answer.body = R"({"kind":"Status","status":"Failure","reason":"ServiceUnavailable","message":"away","code":503})";
  return answer;
}

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
  spoke->on_request([](const testkit::ApiCall&) -> std::optional<kube::Response> { return away(); });
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

TEST_F(UnjoinCommand, WithOrphanWorkloadsStayAndNobodyIsAskedForThem) {
  const Json map{{"metadata",
                  {{"name", "m"},
                   {"namespace", "default"},
                   {"uid", "1"},
                   {"ownerReferences", Json::array({{{"apiVersion", api::applied_manifest_works().api_version()},
                                                     {"kind", "AppliedManifestWork"},
                                                     {"name", "x-web"},
                                                     {"uid", "2"}}})}}}};
  spoke->put(kube::resources::config_maps(), map);
  const Json resource{{"version", "v1"}, {"resource", "configmaps"}, {"namespace", "default"}, {"name", "m"}, {"uid", "1"}};
  spoke->put(api::applied_manifest_works(), {{"metadata", {{"name", "x-web"}, {"uid", "2"}}},
                                             {"spec", {{"manifestWorkName", "web"}}},
                                             {"status", {{"appliedResources", Json::array({resource})}}}});
  const Flags flags{{"hub-context", "hub"}, {"cluster-name", "c1"}, {"orphan", "true"}, {"yes", "true"}};
  const auto report = run(flags);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(string_list_at(report->data, {"kept"}), std::vector<std::string>{"web"});
  EXPECT_NE(joined(report->notes, "\n").find("stays on cluster c1"), std::string::npos);
  EXPECT_FALSE(hub->get(api::managed_clusters(), "", "c1"));
  EXPECT_TRUE(hub->all(api::manifest_works()).empty());
  const auto kept = spoke->get(kube::resources::config_maps(), "default", "m");
  ASSERT_TRUE(kept);
  EXPECT_TRUE(list_at(*kept, {"metadata", "ownerReferences"}).empty());
  for (const Flags& wrong : {Flags{{"cluster-name", "c1"}, {"orphan", "true"}},
                             Flags{{"cluster-name", "c1"}, {"orphan", "true"}, {"hub-only", "true"}}})
    EXPECT_EQ(run(wrong).error().category, Category::kUsage);
}

TEST_F(UnjoinCommand, OrphanNeedsBothSides) {
  spoke->on_request([](const testkit::ApiCall&) -> std::optional<kube::Response> { return away(); });
  EXPECT_FALSE(run({{"hub-context", "hub"}, {"cluster-name", "c1"}, {"orphan", "true"}, {"yes", "true"}}));
  EXPECT_TRUE(hub->writes().empty());
}

class UnregisterCommand : public UnjoinCommand {
 protected:
  UnregisterCommand() {
    register_unregister(registry);
    hub->erase(api::manifest_works(), "c1", "web");
    spoke->put(kube::resources::deployments(), {{"metadata",
                                                 {{"name", "klusterlet-agent"},
                                                  {"namespace", "open-cluster-management-agent"},
                                                  {"labels", {{"fleetadm.io/part", "agent"}}}}}});
  }
  Result<Report> leave(const std::vector<std::string>& args, Flags flags = {}) {
    flags.emplace_back("yes", "true");
    return testkit::run_command(registry, "unregister", context, flags, args);
  }
  bool agent_is_there() const { return !spoke->all(kube::resources::deployments()).empty(); }
};

TEST_F(UnregisterCommand, BothHalvesGoAndTheAgentLast) {
  bool cluster_when_agent_went = true;
  spoke->on_request([&](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (call.verb == "delete" && call.plural == "deployments")
      cluster_when_agent_went = hub->get(api::managed_clusters(), "", "c1").has_value();
    return {};
  });
  const auto report = leave({"c1"}, {{"hub-context", "hub"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->failures.empty());
  EXPECT_FALSE(hub->get(api::managed_clusters(), "", "c1"));
  EXPECT_FALSE(agent_is_there());
  EXPECT_FALSE(cluster_when_agent_went);
}

TEST_F(UnregisterCommand, TheSideThatAnswersIsLeftAndTheOtherNamed) {
  hub->on_request([](const testkit::ApiCall&) -> std::optional<kube::Response> { return away(); });
  const auto report = leave({"c1"}, {{"hub-context", "hub"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(agent_is_there());
  ASSERT_EQ(report->failures.size(), 1U);
  EXPECT_NE(report->failures[0].message.find("the hub does not answer"), std::string::npos) << report->failures[0].message;
  EXPECT_NE(report->failures[0].hint.find("fleetadm unregister --hub-only --context HUB c1"), std::string::npos);
}

TEST_F(UnregisterCommand, AClusterThatDoesNotAnswerIsLeftOnTheHub) {
  spoke->on_request([](const testkit::ApiCall&) -> std::optional<kube::Response> { return away(); });
  const auto report = leave({"c1"}, {{"hub-context", "hub"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(hub->get(api::managed_clusters(), "", "c1"));
  ASSERT_EQ(report->failures.size(), 1U);
  EXPECT_NE(report->failures[0].hint.find("fleetadm unjoin --context"), std::string::npos);
  EXPECT_EQ(leave({}, {{"hub-context", "hub"}}).error().category, Category::kUsage) << "nobody knows its name";
  hub->on_request([](const testkit::ApiCall&) -> std::optional<kube::Response> { return away(); });
  EXPECT_FALSE(leave({"c1"}, {{"hub-context", "hub"}})) << "neither answers";
}

TEST_F(UnregisterCommand, WorksKeepTheirAgentWhileTheHubIsAway) {
  spoke->put(api::applied_manifest_works(), {{"metadata", {{"name", "x-web"}}}, {"spec", {{"manifestWorkName", "web"}}}});
  hub->on_request([](const testkit::ApiCall&) -> std::optional<kube::Response> { return away(); });
  EXPECT_EQ(leave({"c1"}, {{"hub-context", "hub"}}).error().category, Category::kConflict);
  EXPECT_TRUE(agent_is_there());
}

TEST_F(UnregisterCommand, AClusterThatTheHubDialsHasNoAgent) {
  hub->put(api::managed_clusters(), {{"metadata", {{"name", "c1"}, {"labels", {{"fleetadm.io/mode", "push"}}}}}});
  const auto report = leave({"c1"}, {{"hub-context", "hub"}});
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().hint.find("fleetadm unjoin --push"), std::string::npos);
  EXPECT_TRUE(agent_is_there());
  EXPECT_EQ(leave({}, {{"hub-only", "true"}}).error().category, Category::kUsage);
}

}  // namespace
}  // namespace fleetadm::commands
