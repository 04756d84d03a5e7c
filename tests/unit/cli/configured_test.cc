// Settings on a command line: flags come first, and nothing hides a built-in command.
#include "cli/configured.h"

#include <gtest/gtest.h>

#include "cli/app.h"
#include "cli/argv/lookup.h"
#include "cli/globals.h"

namespace fleetadm::cli {
namespace {

using Words = std::vector<std::string>;

class ConfiguredTest : public ::testing::Test {
 protected:
  commands::Settings settings_of(std::string_view text) {
    const auto settings = commands::Settings::of(*commands::parse_config(text, "c.yaml"), [](auto) { return std::string(); });
    return *settings;
  }

  /// The global options of a command line, with the settings applied.
  commands::GlobalOptions options_of(std::string_view text, const Words& words) {
    commands::GlobalOptions options;
    const commands::FlagSet globals = global_flags(options);
    const auto found = find_command(registry_, words, all_flags({}, globals).list);
    EXPECT_TRUE(found && found->command != nullptr);
    const commands::Invocation call = found->command->make();
    const AllFlags flags = all_flags(call.flags, globals);
    const auto argv = normalise(found->rest, flags.list);
    EXPECT_TRUE(argv);
    EXPECT_TRUE(apply_settings(settings_of(text), *found->command, *argv, flags.list, globals));
    return options;
  }

  /// Whether "yes" of a command was set to true.
  bool says_yes(std::string_view text, const Words& words) {
    commands::GlobalOptions options;
    const commands::FlagSet globals = global_flags(options);
    const auto found = find_command(registry_, words, all_flags({}, globals).list);
    commands::Invocation call = found->command->make();
    bool yes = false;
    bool removals = false;
    for (commands::Flag& flag : call.flags.flags()) {
      if (flag.name != "yes" && flag.name != "allow-removals") continue;
      flag.set = [&into = flag.name == "yes" ? yes : removals](std::string_view value) -> Status {
        into = value == "true";
        return {};
      };
    }
    const AllFlags flags = all_flags(call.flags, globals);
    const auto argv = normalise(found->rest, flags.list);
    EXPECT_TRUE(apply_settings(settings_of(text), *found->command, *argv, flags.list, globals));
    EXPECT_FALSE(removals) << "no setting allows removals";
    return yes;
  }

  Result<Words> expanded(std::string_view text, const Words& words) {
    commands::GlobalOptions options;
    const commands::FlagSet globals = global_flags(options);
    return expand_alias(registry_, settings_of(text), words, all_flags({}, globals).list);
  }

  commands::Registry registry_ = full_registry();
};

TEST_F(ConfiguredTest, SettingsAreDefaultsOfFlags) {
  const std::string text = "output: json\nrequestTimeout: 5s\ncolor: never\n";
  const auto plain = options_of(text, {"get", "clusters"});
  EXPECT_EQ(plain.output, "json");
  EXPECT_EQ(plain.color, "never");
  EXPECT_EQ(plain.request_timeout, std::chrono::seconds(5));
  EXPECT_EQ(options_of(text, {"get", "clusters", "-owide"}).output, "");
  EXPECT_EQ(options_of(text, {"help"}).output, "") << "help has only text";
}

TEST_F(ConfiguredTest, TheHubContextIsForCommandsOfAHub) {
  const std::string text = "hubContext: staging\n";
  EXPECT_EQ(options_of(text, {"get", "clusters"}).config.context, "staging");
  EXPECT_EQ(options_of(text, {"get", "clusters", "--context", "c"}).config.context, "");
  EXPECT_EQ(options_of(text, {"get", "clusters", "--kubeconfig", "f"}).config.context, "") << "of another file";
  EXPECT_EQ(options_of(text, {"join"}).config.context, "") << "a managed cluster";
  EXPECT_EQ(options_of(text, {"hub", "run"}).config.context, "");
  EXPECT_EQ(options_of(text, {"agent", "run"}).config.context, "");
}

TEST_F(ConfiguredTest, ConfirmIsYesAndNeverAllowsRemovals) {
  EXPECT_TRUE(says_yes("confirm: false\n", {"clean"}));
  EXPECT_TRUE(says_yes("confirm: false\n", {"cluster", "deny", "c1"}));
  EXPECT_FALSE(says_yes("confirm: false\n", {"clean", "--yes=false"})) << "the flag comes first";
  EXPECT_FALSE(says_yes("confirm: true\n", {"clean"}));
  EXPECT_FALSE(says_yes("", {"clean"}));
}

TEST_F(ConfiguredTest, AliasesStandForBuiltInCommands) {
  const std::string text = "aliases:\n  prod: get clusters -l 'a=b c'\n  get: version\n  loop: prod\n  up: getx clusters\n";
  EXPECT_EQ(*expanded(text, {"-n", "prod", "prod", "c1"}), (Words{"-n", "prod", "get", "clusters", "-l", "a=b c", "c1"}));
  EXPECT_EQ(*expanded(text, {"get", "clusters"}), (Words{"get", "clusters"})) << "a built-in command is never replaced";
  EXPECT_EQ(*expanded(text, {"--", "prod"}), (Words{"--", "prod"}));
  EXPECT_EQ(*expanded(text, {"nothing"}), (Words{"nothing"}));
  EXPECT_FALSE(expanded(text, {"loop"})) << "not twice";
  const auto wrong = expanded(text, {"up"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "c.yaml:5: aliases.up does not begin with a built-in command: \"getx\"");
  EXPECT_EQ(wrong.error().hint, "did you mean \"get\"?");
}

TEST_F(ConfiguredTest, NoAliasHidesAnyCommand) {
  for (const std::string& word : words_under(registry_, "")) {
    EXPECT_EQ(*expanded("aliases:\n  " + word + ": version\n", {word, "x"}), (Words{word, "x"}));
  }
}

}  // namespace
}  // namespace fleetadm::cli
