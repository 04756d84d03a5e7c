// The words of other tools: what is answered to them exists here, and none of them hides a command of ours.
#include "cli/foreign.h"

#include <gtest/gtest.h>
#include <set>

#include "cli/app.h"

namespace fleetadm::cli {
namespace {

std::set<std::string> command_paths() {
  const commands::Registry registry = full_registry();
  std::set<std::string> paths;
  for (const commands::Command& command : registry.commands()) {
    paths.insert(command.path);
    paths.insert(command.aliases.begin(), command.aliases.end());
  }
  return paths;
}

TEST(ForeignTest, ReplacementsExist) {
  const std::set<std::string> paths = command_paths();
  for (const Foreign& row : foreign_words()) {
    const std::string hint(row.instead);
    for (std::size_t at = hint.find("`fleetadm "); at != std::string::npos; at = hint.find("`fleetadm ", at + 1)) {
      const std::size_t begin = at + std::string("`fleetadm ").size();
      std::string path = hint.substr(begin, hint.find('`', begin) - begin);
      path = path.substr(0, path.find(" -"));
      EXPECT_TRUE(paths.contains(path)) << row.typed << ": " << path;
    }
  }
}

TEST(ForeignTest, NoRowHidesACommand) {
  const std::set<std::string> paths = command_paths();
  std::set<std::string_view> seen;
  for (const Foreign& row : foreign_words()) {
    EXPECT_FALSE(paths.contains(std::string(row.typed))) << row.typed;
    EXPECT_TRUE(seen.insert(row.typed).second) << row.typed;
    EXPECT_FALSE(row.instead.empty() || row.instead.ends_with('.')) << row.typed;
  }
}

TEST(ForeignTest, TheLongestRowCounts) {
  EXPECT_EQ(foreign_command_hint({"cluster", "detach", "-o", "json"}), "use `fleetadm unjoin`");
  EXPECT_EQ(foreign_command_hint({"-v", "delete", "token"}), "use `fleetadm token revoke`");
  EXPECT_EQ(foreign_command_hint({"get"}), "");
  EXPECT_EQ(foreign_command_hint({"nonsense"}), "");
  EXPECT_EQ(foreign_flag_hint("--num-of-clusters"), "use --cluster-count");
  EXPECT_EQ(foreign_flag_hint("--nonsense"), "");
}

}  // namespace
}  // namespace fleetadm::cli
