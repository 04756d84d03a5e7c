// Which files on PATH are plugins, and which of them a command line means.
#include "commands/plugin/search.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace fleetadm::commands {
namespace {

class PluginSearch : public ::testing::Test {
 protected:
  std::string add(const std::string& file, bool executable = true) {
    std::filesystem::create_directories((folder_.path() / file).parent_path());
    std::string path = folder_.write(file, "#!/bin/sh\n");
    using std::filesystem::perms;
    if (executable) std::filesystem::permissions(path, perms::owner_all);
    return path;
  }
  std::string folder(const std::string& name) const { return (folder_.path() / name).string(); }

  testkit::TemporaryFolder folder_{"plugins"};
};

TEST_F(PluginSearch, TheLongestNameCounts) {
  const std::string path = folder("a");
  const std::string foo = add("a/fleetadm-foo");
  const std::string bar = add("a/fleetadm-foo-bar_baz");
  const auto longest = find_plugin({"foo", "bar-baz", "x", "--flag"}, 1, path);
  ASSERT_TRUE(longest);
  EXPECT_EQ(longest->path, bar);
  EXPECT_EQ(longest->words, 2U);
  const auto shorter = find_plugin({"foo", "--flag", "bar-baz"}, 1, path);
  ASSERT_TRUE(shorter) << "a flag ends the name";
  EXPECT_EQ(shorter->path, foo);
  EXPECT_EQ(shorter->words, 1U);
  EXPECT_FALSE(find_plugin({"foo", "x"}, 2, path)) << "a group needs a longer name";
  EXPECT_FALSE(find_plugin({"fo"}, 1, path));
  EXPECT_FALSE(find_plugin({}, 1, path));
}

TEST_F(PluginSearch, OnlyExecutablesInAbsoluteFoldersAreRun) {
  add("a/fleetadm-foo", false);
  const std::string real = add("b/fleetadm-foo");
  std::filesystem::create_directories(folder("c/fleetadm-foo"));
  EXPECT_EQ(find_plugin({"foo"}, 1, folder("c") + ":" + folder("a") + ":" + folder("b"))->path, real);
  EXPECT_FALSE(find_plugin({"foo"}, 1, folder("c") + ":" + folder("a")));
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder("b"));
  EXPECT_FALSE(find_plugin({"foo"}, 1, ".::b")) << "a file of the working directory is no command";
  std::filesystem::current_path(before);
}

TEST_F(PluginSearch, AWordIsNoPath) {
  add("b/fleetadm-foo");
  std::filesystem::create_directories(folder("a/fleetadm-x"));
  EXPECT_FALSE(find_plugin({"x/../../b/fleetadm-foo"}, 1, folder("a")));
  EXPECT_FALSE(find_plugin({""}, 1, folder("b")));
}

TEST_F(PluginSearch, TheListTellsWhatIsNeverRun) {
  add("a/fleetadm-foo");
  add("a/fleetadm-get");
  add("a/fleetadm-plain", false);
  add("a/fleetadm_complete-foo");
  add("b/fleetadm-foo");
  add("b/fleetadm-plain");
  const auto plugins = list_plugins(folder("a") + "/:" + folder("b") + ":" + folder("a") + ":/nonexistent",
                                    [](const std::string& command) { return command == "get"; });
  std::vector<std::pair<std::string, std::string>> seen;
  for (const Plugin& plugin : plugins) seen.emplace_back(plugin.command, plugin.problem);
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, std::string>>{{"foo", ""},
                                                                    {"get", "hidden by a built-in command"},
                                                                    {"plain", "not executable"},
                                                                    {"foo", "shadowed by " + folder("a/fleetadm-foo")},
                                                                    {"plain", ""}}));
}

}  // namespace
}  // namespace fleetadm::commands
