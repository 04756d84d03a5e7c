// The configuration file and what takes precedence over it.
#include "commands/framework/settings.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "kubeclient/config/files.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::commands {
namespace {

using Variables = std::map<std::string, std::string>;

Environment variables(Variables values) {
  return [values = std::move(values)](std::string_view name) {
    const auto found = values.find(std::string(name));
    return found == values.end() ? std::string() : found->second;
  };
}

std::string problem_of(std::string_view text) {
  const auto file = parse_config(text, "c.yaml");
  if (file) return "no problem";
  EXPECT_EQ(file.error().category, Category::kUsage) << file.error().message;
  EXPECT_FALSE(file.error().hint.empty()) << file.error().message;
  return file.error().message;
}

Settings settings_of(std::string_view text, Variables environment = {}) {
  auto file = parse_config(text, "c.yaml");
  EXPECT_TRUE(file) << (file ? "" : file.error().message);
  auto settings = Settings::of(*file, variables(std::move(environment)));
  EXPECT_TRUE(settings) << (settings ? "" : settings.error().message);
  return *settings;
}

TEST(ConfigFileTest, EntriesAreTypedAndHaveTheirLine) {
  const auto file = parse_config("# mine\nhubContext: 7\nconfirm: false\naliases:\n  up: get clusters\n", "c.yaml");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->entries.at("hubContext").value, "7");
  EXPECT_EQ(file->entries.at("hubContext").line, 2);
  EXPECT_EQ(file->entries.at("confirm").value, false);
  EXPECT_EQ(file->entries.at("aliases.up").value, "get clusters");
  EXPECT_EQ(file->entries.at("aliases.up").line, 5);
  EXPECT_TRUE(parse_config("", "c.yaml")->entries.empty());
  EXPECT_TRUE(parse_config("# nothing\n", "c.yaml")->entries.empty());
}

TEST(ConfigFileTest, ProblemsNameFileAndLine) {
  EXPECT_EQ(problem_of("\ncolour: auto\n"), "c.yaml:2: unknown key \"colour\"");
  EXPECT_EQ(problem_of("color: [auto]\n"), "c.yaml:1: color must be one of the allowed words");
  EXPECT_EQ(problem_of("output: json\ncolor: red\n"), "c.yaml:2: color: \"red\" is not one of auto, always, never");
  EXPECT_EQ(problem_of("confirm: yes\n"), "c.yaml:1: confirm: \"yes\" is not one of true, false");
  EXPECT_EQ(problem_of("requestTimeout: soon\n"), "c.yaml:1: requestTimeout: not a duration like 30s, 5m or 1h30m");
  EXPECT_EQ(problem_of("hubContext:\n"), "c.yaml:1: hubContext must be text");
  EXPECT_EQ(problem_of("color: auto\ncolor: never\n"), "c.yaml:2: key \"color\" is given twice");
  EXPECT_EQ(problem_of("- color\n"), "c.yaml:1: the file must be a mapping of keys to values");
  EXPECT_EQ(problem_of("color: auto\n---\ncolor: auto\n"), "c.yaml:3: the file must be one document");
  EXPECT_EQ(problem_of("aliases: get\n"), "c.yaml:1: aliases must be a mapping of names to commands");
  EXPECT_EQ(problem_of("aliases:\n  Up: get\n"), "c.yaml:2: \"Up\" is not a valid name for an alias");
  EXPECT_EQ(problem_of("aliases:\n  up: get 'a\n"), "c.yaml:2: aliases.up: a quote (') is not closed");
  EXPECT_EQ(problem_of("hubContext: \"a\\nb\"\n"), "c.yaml:1: hubContext: the value contains a line break or control character");
  for (const std::string_view text : {"hubContext: \"a\ncolor: auto\n", "hubContext: {a: b\n", "color: auto\n  confirm: x\n"}) {
    const std::string problem = problem_of(text);
    EXPECT_EQ(problem.find("c.yaml: "), 0U) << problem;
    EXPECT_NE(problem.find("line "), std::string::npos) << problem;
  }
}

TEST(ConfigFileTest, ListsHaveItemsOfTheirOwnLine) {
  const auto file = parse_config("credentialPluginAllowlist:\n- login\n- /bin/x\n", "c.yaml");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->entries.at("credentialPluginAllowlist").value, Json({"login", "/bin/x"}));
  EXPECT_EQ(problem_of("credentialPluginAllowlist: login\n"), "c.yaml:1: credentialPluginAllowlist must be a list of texts");
  EXPECT_EQ(problem_of("credentialPluginAllowlist: []\n"), "c.yaml:1: credentialPluginAllowlist must be a list of texts");
  EXPECT_EQ(problem_of("credentialPluginAllowlist:\n- a\n- b/c\n"),
            "c.yaml:3: credentialPluginAllowlist: \"b/c\" is neither a program's name nor an absolute path");
  EXPECT_EQ(problem_of("credentialPluginAllowlist:\n- [a]\n"), "c.yaml:2: an item of credentialPluginAllowlist must be text");
  EXPECT_EQ(*edit_config("color: auto\ncredentialPluginAllowlist:\n- a\n- b # why\n# end\n", "c", "credentialPluginAllowlist",
                         Json({"c"})),
            "color: auto\ncredentialPluginAllowlist:\n- c\n# end\n");
  EXPECT_EQ(*setting_value(*find_setting("credentialPluginAllowlist"), "a, /b"), Json({"a", "/b"}));
}

TEST(ConfigFileTest, EditsKeepEverythingElse) {
  const std::string before =
      "# mine\nhubContext: a  # here\n\n# of colors\ncolor: \"auto\"\naliases:\n    # first\n    a: get clusters\n# end\n";
  EXPECT_EQ(*edit_config(before, "c", "color", Json("never")),
            "# mine\nhubContext: a  # here\n\n# of colors\ncolor: never\naliases:\n    # first\n    a: get clusters\n# end\n");
  EXPECT_EQ(*edit_config(before, "c", "aliases.b", Json("version")),
            "# mine\nhubContext: a  # here\n\n# of colors\ncolor: \"auto\"\naliases:\n    # first\n    a: get clusters\n    b: "
            "version\n# end\n");
  EXPECT_EQ(*edit_config(before, "c", "aliases.a", std::nullopt),
            "# mine\nhubContext: a  # here\n\n# of colors\ncolor: \"auto\"\n# end\n");
  EXPECT_EQ(*edit_config(before, "c", "hubContext", std::nullopt),
            "# mine\n\n# of colors\ncolor: \"auto\"\naliases:\n    # first\n    a: get clusters\n# end\n");
  EXPECT_EQ(*edit_config("", "c", "aliases.b", Json("version")), "aliases:\n  b: version\n");
  EXPECT_EQ(*edit_config("color: auto", "c", "hubContext", Json("true")), "color: auto\nhubContext: \"true\"\n");
}

TEST(ConfigFileTest, WhatCannotBeEditedIsLeftAlone) {
  const auto flow = edit_config("{color: auto, confirm: true}\n", "c", "color", Json("never"));
  ASSERT_FALSE(flow);
  EXPECT_EQ(flow.error().category, Category::kConflict);
  EXPECT_FALSE(edit_config("aliases: {a: get, b: version}\n", "c", "aliases.a", std::nullopt));
  EXPECT_FALSE(edit_config("colour: auto\n", "c", "color", Json("never")));
}

TEST(ConfigFileTest, ANewFileIsForItsOwnerOnly) {
  const testkit::TemporaryFolder folder("config");
  const std::string path = (folder.path() / "fleetadm" / "config.yaml").string();
  EXPECT_TRUE(*change_config(path, "color", Json("never"), false));
  EXPECT_FALSE(read_config(path)->exists) << "only checked";
  EXPECT_TRUE(*change_config(path, "color", Json("never"), true));
  EXPECT_FALSE(*change_config(path, "color", Json("never"), true)) << "nothing left to change";
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0600U);
  EXPECT_EQ(*kube::read_file(path), "color: never\n");
}

TEST(SettingsTest, EnvironmentThenFileThenDefault) {
  const Settings settings = settings_of("color: never\noutput: wide\n", {{"FLEETADM_OUTPUT", "json"}});
  EXPECT_EQ(settings.find("output")->text(), "json");
  EXPECT_EQ(settings.find("output")->origin, Origin::kEnvironment);
  EXPECT_EQ(settings.find("output")->source, "FLEETADM_OUTPUT");
  EXPECT_EQ(settings.find("color")->text(), "never");
  EXPECT_EQ(settings.find("color")->source, "c.yaml:1");
  EXPECT_EQ(settings.find("confirm")->value, true);
  EXPECT_EQ(settings.find("confirm")->origin, Origin::kDefault);
  EXPECT_TRUE(settings.find("hubContext")->value.is_null());
}

TEST(SettingsTest, SharedVariablesOfColorsComeBeforeTheFile) {
  EXPECT_EQ(settings_of("color: always\n", {{"NO_COLOR", "1"}}).find("color")->source, "NO_COLOR");
  EXPECT_EQ(settings_of("color: never\n", {{"CLICOLOR_FORCE", "1"}}).find("color")->text(), "auto");
  EXPECT_EQ(settings_of("color: never\n", {{"CLICOLOR_FORCE", "0"}}).find("color")->text(), "never");
}

TEST(SettingsTest, AWrongVariableIsNamed) {
  const auto wrong = Settings::of({}, variables({{"FLEETADM_CONFIRM", "no"}}));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "FLEETADM_CONFIRM: \"no\" is not one of true, false");
}

TEST(SettingsTest, TheFileIsTheUsersAlone) {
  EXPECT_EQ(config_path(variables({{"FLEETADM_CONFIG", "x"}, {"HOME", "/h"}})), "x");
  EXPECT_EQ(config_path(variables({{"XDG_CONFIG_HOME", "/x"}, {"HOME", "/h"}})), "/x/fleetadm/config.yaml");
  EXPECT_EQ(config_path(variables({{"XDG_CONFIG_HOME", "x"}, {"HOME", "/h"}})), "/h/.config/fleetadm/config.yaml")
      << "a relative folder would be one of the working directory";
  EXPECT_EQ(config_path(variables({})), "");
  const auto named = Settings::load(variables({{"FLEETADM_CONFIG", "/nonexistent/config"}}));
  ASSERT_FALSE(named);
  EXPECT_NE(named.error().message.find("/nonexistent/config"), std::string::npos);
  EXPECT_TRUE(Settings::load(variables({{"HOME", "/nonexistent"}})));
}

TEST(SettingsTest, WordsOfAnAlias) {
  EXPECT_EQ(*alias_words(" get  clusters -l 'a=b c' \"\" x\"y z\""),
            (std::vector<std::string>{"get", "clusters", "-l", "a=b c", "", "xy z"}));
  EXPECT_FALSE(alias_words("get \"clusters"));
}

}  // namespace
}  // namespace fleetadm::commands
