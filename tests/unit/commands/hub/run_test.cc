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
