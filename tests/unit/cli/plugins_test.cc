// Plugins beside the built-in commands.
#include "cli/plugins.h"

#include <gtest/gtest.h>

#include "cli/app.h"
#include "cli/argv/lookup.h"

namespace fleetadm::cli {
namespace {

TEST(PluginsTest, NoPluginReplacesABuiltInCommand) {
  const commands::Registry registry = full_registry();
  for (const commands::Command& command : registry.commands()) {
    EXPECT_TRUE(hides_plugin(registry, command.path)) << command.path;
    // A group that is a command with some of its flags is a group for plugins.
    if (!command.chosen_by.empty()) continue;
    EXPECT_TRUE(hides_plugin(registry, command.path + " more")) << "an argument of " << command.path;
  }
  EXPECT_TRUE(hides_plugin(registry, "work")) << "a group";
  EXPECT_FALSE(hides_plugin(registry, "work foo"));
  EXPECT_FALSE(hides_plugin(registry, "foo"));
  EXPECT_FALSE(hides_plugin(registry, "foo get"));
}

}  // namespace
}  // namespace fleetadm::cli
