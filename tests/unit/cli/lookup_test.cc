#include "cli/argv/lookup.h"

#include <gtest/gtest.h>

#include "cli/argv/suggest.h"
#include "cli/globals.h"

namespace fleetadm::cli {
namespace {

using commands::Command;
using commands::Registry;
using Words = std::vector<std::string>;

class LookupTest : public ::testing::Test {
 protected:
  LookupTest() {
    for (const char* path : {"version", "get clusters", "get works", "placement create", "placement get", "accept"}) {
      Command command;
      command.path = path;
      if (command.path == "get clusters") command.aliases = {"get mcl"};
      registry_.add(command);
    }
    Command hidden;
    hidden.path = "__secret";
    hidden.hidden = true;
    registry_.add(hidden);
  }
  Result<Found> find_it(const Words& words) { return find_command(registry_, words, globals_.list); }

  Registry registry_;
  commands::GlobalOptions options_;
  commands::FlagSet set_ = global_flags(options_);
  AllFlags globals_ = all_flags({}, set_);
};

TEST_F(LookupTest, FlagsMayStandAnywhere) {
  const auto found = find_it({"--context", "get", "-q", "get", "--kubeconfig=x", "-n", "ns", "clusters", "-o", "json", "c1"});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->command->path, "get clusters");
  EXPECT_EQ(found->rest, (Words{"--context", "get", "-q", "--kubeconfig=x", "-n", "ns", "-o", "json", "c1"}));
}

TEST_F(LookupTest, AliasesFindTheirCommand) {
  const auto found = find_it({"get", "mcl", "c1"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->command->path, "get clusters");
  EXPECT_EQ(found->rest, Words{"c1"});
}

TEST_F(LookupTest, ACommandsArgumentsAreNotCommands) {
  const auto found = find_it({"accept", "version", "get", "clusters"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->command->path, "accept");
  EXPECT_EQ(found->rest, (Words{"version", "get", "clusters"}));
}

TEST_F(LookupTest, GroupsAndNothing) {
  auto found = find_it({"placement"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->command, nullptr);
  EXPECT_EQ(found->path, "placement");
  found = find_it({"-h"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->path, "");
  EXPECT_EQ(found->rest, Words{"-h"});
  found = find_it({"placement", "--help"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rest, Words{"--help"});
}

TEST_F(LookupTest, WordsAfterADoubleDashAreNoCommand) {
  const auto found = find_it({"--", "version"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->command, nullptr);
}

TEST_F(LookupTest, AGroupIsACommandWhereOneOfItsFlagsSaysSo) {
  commands::Registry registry;
  for (const char* path : {"get", "get things"}) {
    commands::Command command;
    command.path = path;
    command.summary = "Show it";
    if (command.path == "get") command.chosen_by = {"--from", "-c"};
    registry.add(command);
  }
  const auto found = [&](const std::vector<std::string>& words) -> std::string {
    const auto result = find_command(registry, words, {});
    if (!result) return result.error().hint;
    return result->command == nullptr ? "group" : result->command->path + "/" + std::to_string(result->rest.size());
  };
  EXPECT_EQ(found({"get"}), "group");
  EXPECT_EQ(found({"get", "pods", "--from", "a"}), "get/3");
  EXPECT_EQ(found({"get", "--from=a", "pods"}), "get/2");
  EXPECT_EQ(found({"get", "pods", "-ca"}), "get/2");
  EXPECT_EQ(found({"get", "things", "--from", "a"}), "get things/2");
  EXPECT_NE(found({"get", "pods"}).find("with --from it is: Show it"), std::string::npos) << found({"get", "pods"});
  EXPECT_NE(found({"get", "pods", "--fromage"}).find("with --from"), std::string::npos);
  EXPECT_NE(found({"get", "pods", "--", "--from"}).find("with --from"), std::string::npos);
}

TEST_F(LookupTest, UnknownCommandsSuggest) {
  auto found = find_it({"verison"});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().category, Category::kUsage);
  EXPECT_EQ(found.error().message, "unknown command \"verison\"");
  EXPECT_EQ(found.error().hint, "did you mean \"version\"?");
  found = find_it({"placement", "crete"});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "unknown command \"crete\" for \"fleetadm placement\"");
  EXPECT_EQ(found.error().hint, "did you mean \"placement create\"?");
  found = find_it({"zzzzzz"});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().hint, "\"fleetadm --help\" lists the commands");
}

TEST_F(LookupTest, HiddenCommandsAreNotListed) {
  EXPECT_EQ(words_under(registry_, ""), (Words{"version", "get", "placement", "accept"}));
}

TEST(SuggestTest, Distance) {
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("verison", "version"), 1U);  // neighbours swapped
  EXPECT_EQ(edit_distance("Get", "get"), 0U);
  EXPECT_EQ(edit_distance("join", "unjoin"), 2U);
}

TEST(SuggestTest, NearestFirstAndFarOnesNever) {
  EXPECT_EQ(nearest("clusterse", {"clusters", "clustersets", "placements"}), (Words{"clusters", "clustersets"}));
  EXPECT_EQ(nearest("xyz", {"get", "join"}), Words{});
  EXPECT_EQ(nearest("", {"get"}), Words{});
}

}  // namespace
}  // namespace fleetadm::cli
