#include "commands/fleet/changes.h"

#include <gtest/gtest.h>

namespace fleetadm::commands {
namespace {

TEST(ChangeLines, LeaveOutWhatStayedAsItWasUnlessNothingIsReallyDone) {
  const std::vector<install::Change> changes{{"Deployment", "ns", "agent", install::Action::kCreated},
                                             {"ClusterRole", "", "reader", install::Action::kUnchanged},
                                             {"Secret", "ns", "key", install::Action::kDeleted}};
  EXPECT_EQ(change_lines(changes, false), (std::vector<std::string>{"Deployment ns/agent created", "Secret ns/key deleted"}));
  EXPECT_EQ(change_lines(changes, true),
            (std::vector<std::string>{"Deployment ns/agent created (dry run)", "ClusterRole reader unchanged (dry run)",
                                      "Secret ns/key deleted (dry run)"}));
  EXPECT_TRUE(change_lines({}, false).empty());
}

}  // namespace
}  // namespace fleetadm::commands
