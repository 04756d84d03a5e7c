// cluster reconnect: whom it concerns, and what it asks of the hub.
#include "commands/cluster/cluster.h"
#include "core/api/push_member.h"
#include "core/controller/controller.h"
#include "tests/unit/commands/framework/fixture.h"

namespace fleetadm::commands {
namespace {

class ReconnectCommand : public GuardedHub {
 protected:
  ReconnectCommand() {
    register_cluster(registry);
    for (const char* name : {"c1", "c2"}) put(name, "False", "False");
  }
  void put(const std::string& name, std::string_view available, std::string_view responding) {
    Json object = cluster(name);
    object["metadata"]["labels"][std::string(api::kModeLabel)] = api::kPushMode;
    Json& conditions = at_or_make(object, {"status", "conditions"});
    controller::set_condition(conditions, api::kConditionAvailable, available, "x", "", clock->now());
    controller::set_condition(conditions, api::kConditionResponding, responding, "x", "", clock->now());
    controller::set_condition(conditions, api::kConditionReady, "False", "x", "it is dark", clock->now());
    api->put(api::managed_clusters(), object);
  }
  std::string asked(const std::string& name) const { return annotation_of(cluster(name), api::kReconnectAnnotation); }
};

TEST_F(ReconnectCommand, AsksForATryEachTime) {
  const auto report = run("cluster reconnect", {"c1"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->lines, Lines{"managedcluster c1 reconnecting"});
  EXPECT_EQ(name_of(report->data), "c1");
  EXPECT_EQ(asked("c1"), "2026-03-01T10:00:00.000000Z");
  EXPECT_EQ(asked("c2"), "");
  clock->advance(std::chrono::milliseconds(20));
  ASSERT_TRUE(run("cluster reconnect", {"c1"}));
  EXPECT_EQ(asked("c1"), "2026-03-01T10:00:00.020000Z");
}

TEST_F(ReconnectCommand, LeavesAClusterThatAnswersAlone) {
  for (const char* available : {"True", "False"}) {
    put("c1", available, "True");
    const auto report = run("cluster reconnect", {"c1"});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->lines, Lines{"managedcluster c1 unchanged"}) << available;
  }
  EXPECT_EQ(writes(), 0);
  put("c1", "Unknown", "True");
  EXPECT_EQ(run("cluster reconnect", {"c1"})->lines, Lines{"managedcluster c1 reconnecting"}) << "the hub did not look lately";
}

TEST_F(ReconnectCommand, WaitsUntilTheHubIsAnswered) {
  const auto report_of = [this](const char* wait) {
    return run("cluster reconnect", {"c1"}, {{"wait", wait}, {"timeout", "100ms"}});
  };
  const auto late = report_of("connected");
  ASSERT_TRUE(late) << late.error().message;
  ASSERT_EQ(late->failures.size(), 1U);
  EXPECT_NE(late->failures[0].message.find("is still not connected: it is dark"), std::string::npos) << late->failures[0].message;
  EXPECT_EQ(late->exit_code, 6);
  put("c1", "False", "True");
  EXPECT_TRUE(report_of("connected")->failures.empty());
  ASSERT_EQ(report_of("available")->failures.size(), 1U);
  EXPECT_NE(report_of("available")->failures[0].message.find("not yet told as available"), std::string::npos);
  put("c1", "True", "True");
  EXPECT_TRUE(report_of("available")->failures.empty());
}

TEST_F(ReconnectCommand, RefusesAClusterWithAnAgent) {
  const auto refused = run("cluster reconnect", {"c3"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().category, Category::kConflict);
  EXPECT_NE(refused.error().message.find("has an agent"), std::string::npos);
  const auto some = run("cluster reconnect", {}, {{"all", "true"}});
  ASSERT_TRUE(some);
  EXPECT_EQ(some->lines.size(), 2U);
  EXPECT_EQ(some->failures.size(), 1U);
}

TEST_F(ReconnectCommand, NeedsClustersThatExist) {
  EXPECT_EQ(run("cluster reconnect", {}).error().category, Category::kUsage);
  EXPECT_EQ(run("cluster reconnect", {"c9"}).error().category, Category::kNotFound);
}

}  // namespace
}  // namespace fleetadm::commands
