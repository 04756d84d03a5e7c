#include "commands/fleet/changes.h"

#include <gtest/gtest.h>

namespace fleetadm::commands {
namespace {

TEST(ChangeLines, LeaveOutWhatStayedAsItWasUnlessNothingIsReallyDone) {
  const std::vector<install::Change> changes{{"Deployment", "ns", "agent", install::Action::kCreated},
                                             {"ClusterRole", "", "reader", install::Action::kUnchanged},
                                             {"Secret", "ns", "key", install::Action::kDeleted}};
  EXPECT_EQ(change_lines(changes, ""), (std::vector<std::string>{"Deployment ns/agent created", "Secret ns/key deleted"}));
  EXPECT_EQ(change_lines(changes, " (dry run)"),
            (std::vector<std::string>{"Deployment ns/agent created (dry run)", "ClusterRole reader unchanged (dry run)",
                                      "Secret ns/key deleted (dry run)"}));
  EXPECT_TRUE(change_lines({}, "").empty());
}

TEST(ChangeLines, SayWhatWasNotChecked) {
  install::Change change{"Deployment", "ns", "agent", install::Action::kCreated};
  change.unchecked = "Namespace \"ns\" does not exist yet";
  EXPECT_EQ(
      change_lines({change}, " (server dry run)"),
      std::vector<std::string>{"Deployment ns/agent created (server dry run), not checked: Namespace \"ns\" does not exist yet"});
}

TEST(ChangeNames, AreThoseOfKubectl) {
  const std::vector<install::Change> changes{{"Deployment", "ns", "agent", install::Action::kCreated, "apps"},
                                             {"Namespace", "", "c1", install::Action::kDeleted},
                                             {"ClusterRole", "", "theirs", install::Action::kKeptForeign, "rbac"}};
  EXPECT_EQ(change_names(changes), (std::vector<std::string>{"deployment.apps/agent", "namespace/c1"}));
}

TEST(ProgramArgs, AreFlagsOfOneWord) {
  EXPECT_TRUE(check_program_args("hub-arg", {"--leader-elect=false", "--quiet"}));
  for (const char* wrong : {"", "-", "--", "--=x", "leader-elect=false", "-v"}) {
    const Status checked = check_program_args("hub-arg", {"--v=2", wrong});
    ASSERT_FALSE(checked) << wrong;
    EXPECT_EQ(checked.error().category, Category::kUsage);
    EXPECT_NE(checked.error().message.find("--hub-arg"), std::string::npos);
  }
}

}  // namespace
}  // namespace fleetadm::commands
