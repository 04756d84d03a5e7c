#include "commands/hub/run.h"

#include <gtest/gtest.h>

namespace fleetadm::commands {
namespace {

TEST(HubRun, ChecksItsFlags) {
  HubRunOptions options;
  for (const char* value : {"auto", "true", "false"}) {
    options.leader_elect = value;
    EXPECT_TRUE(validate_hub_run(options)) << value;
  }
  for (const char* value : {"", "yes", "True"}) {
    options.leader_elect = value;
    const Status status = validate_hub_run(options);
    ASSERT_FALSE(status) << value;
    EXPECT_EQ(status.error().category, Category::kUsage);
  }
  options.leader_elect = "auto";
  options.auto_approve_users = {"system:serviceaccount:ns:name", ""};
  EXPECT_EQ(validate_hub_run(options).error().category, Category::kUsage);
}

TEST(HubRun, ChecksLabelsAndLeaseTimes) {
  HubRunOptions options;
  options.labels = {"team=fleet", "example.com/empty="};
  EXPECT_TRUE(validate_hub_run(options));
  for (const char* label : {"team", "=x", "a b=c", "a=b c"}) {
    options.labels = {label};
    const Status status = validate_hub_run(options);
    ASSERT_FALSE(status) << label;
    EXPECT_EQ(status.error().category, Category::kUsage);
  }
  options.labels.clear();
  options.leader_timing.renew_deadline = options.leader_timing.lease;
  EXPECT_EQ(validate_hub_run(options).error().category, Category::kUsage);
}

TEST(HubRun, ChecksHowDialedClustersAreJudged) {
  HubRunOptions options;
  options.push_health.failure_hold = std::chrono::seconds(10);
  EXPECT_EQ(validate_hub_run(options).error().message, "--failure-hold requires --push");
  options.push = true;
  EXPECT_TRUE(validate_hub_run(options));
  EXPECT_EQ(push_health_args(options.push_health), std::vector<std::string>{"--failure-hold=10s"});
  options.push_health.give_up_after = std::chrono::seconds(9);
  EXPECT_EQ(validate_hub_run(options).error().category, Category::kUsage);
  options.push_health.give_up_after = std::chrono::hours(12);
  EXPECT_TRUE(validate_hub_run(options));
  for (const Duration hold : {Duration(std::chrono::seconds(-1)), Duration(std::chrono::hours(2))}) {
    options.push_health.success_hold = hold;
    EXPECT_EQ(validate_hub_run(options).error().category, Category::kUsage);
  }
  options.push_health.success_hold = Duration::zero();
  for (const Duration period : {Duration(std::chrono::milliseconds(900)), Duration(std::chrono::minutes(2))}) {
    options.push_health.probe_period = period;
    EXPECT_EQ(validate_hub_run(options).error().category, Category::kUsage);
  }
  options.push_health.probe_period = std::chrono::seconds(5);
  EXPECT_EQ(push_health_args(options.push_health), (std::vector<std::string>{"--probe-period=5s", "--failure-hold=10s",
                                                                             "--success-hold=0s", "--give-up-after=12h0m0s"}));
}

TEST(HubRun, TrustsNobodyByDefault) {
  const Command command = hub_run_command();
  EXPECT_EQ(command.path, "hub run");
  EXPECT_TRUE(HubRunOptions{}.auto_approve_users.empty());
  Invocation call = command.make();
  for (Flag& flag : call.flags.flags()) {
    if (flag.name == "auto-approve-user") {
      EXPECT_TRUE(flag.repeated);
    }
  }
}

}  // namespace
}  // namespace fleetadm::commands
