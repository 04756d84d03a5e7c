// One grammar for every row of the registry: the same noun, flag, letter and default wherever it stands.
#include "commands/framework/grammar.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

#include "cli/app.h"
#include "cli/argv/lookup.h"
#include "cli/help.h"
#include "tests/support/source_folder.h"

namespace fleetadm::cli {
namespace {

using commands::Arity;
using commands::Command;
using commands::Flag;
using Names = std::set<std::string>;

class GrammarTest : public ::testing::Test {
 protected:
  using Visit = std::function<void(const Command&, const Flag&)>;
  void each_flag(const Visit& visit) const {
    for (const Command& command : registry_.commands()) {
      const commands::Invocation call = command.make();
      for (const Flag& flag : call.flags.flags()) visit(command, flag);
    }
  }
  static bool has(const Command& command, const std::string& name) {
    const commands::Invocation call = command.make();
    const auto& flags = call.flags.flags();
    return std::any_of(flags.begin(), flags.end(), [&](const Flag& flag) { return flag.name == name; });
  }

  commands::Registry registry_ = full_registry();
};

Names names_of(const Command& command) {
  Names names(command.aliases.begin(), command.aliases.end());
  names.insert(command.path);
  return names;
}

std::string singular(const std::string& plural) { return plural.substr(0, plural.size() - (plural.ends_with("xes") ? 2 : 1)); }

// A key of the configuration, what an add-on is configured with, a token that is made by asking for it, and files on PATH are not
// lists of the fleet; events are asked for by what they are about.
const Names& no_lists() {
  static const Names names = {"config get", "addon config get", "get token", "plugin list", "events"};
  return names;
}

TEST_F(GrammarTest, EveryListIsReachedByVerbAndByNoun) {
  int lists = 0;
  for (const Command& command : registry_.commands()) {
    const Names names = names_of(command);
    const bool list = std::any_of(names.begin(), names.end(), [](const std::string& name) {
      return name.starts_with("get ") || name.ends_with(" get") || name.ends_with(" list");
    });
    if (!list || no_lists().contains(command.path)) continue;
    ++lists;
    // The noun's group: "sandbox fault list" belongs to "sandbox fault", and its noun is "fault".
    std::string group;
    for (const std::string& name : names)
      if (name.ends_with(" list")) group = name.substr(0, name.size() - std::string(" list").size());
    ASSERT_FALSE(group.empty()) << command.path << " has no form \"NOUN list\"";
    EXPECT_TRUE(names.contains(group + " get")) << command.path;
    const std::string noun = group.substr(group.rfind(' ') + 1);
    // "get token" makes one: those that are stored are listed by their plural.
    EXPECT_TRUE(noun == "token" || names.contains("get " + noun)) << command.path;
    EXPECT_TRUE(
        std::any_of(names.begin(), names.end(),
                    [&](const std::string& name) { return name.starts_with("get " + noun) && singular(name) == "get " + noun; }))
        << command.path << " has no plural";
    EXPECT_EQ(command.args.max, -1) << command.path << " takes names";
    EXPECT_EQ(command.args.min, 0) << command.path;
  }
  EXPECT_GE(lists, 8);
}

TEST_F(GrammarTest, VerbsOfANounAreReachedVerbFirstWhereTheyAreKubectls) {
  for (const Command& command : registry_.commands()) {
    const std::size_t space = command.path.find(' ');
    if (space == std::string::npos || command.path.starts_with("get ")) continue;
    const std::string noun = command.path.substr(0, space);
    const std::string verb = command.path.substr(space + 1);
    if (verb != "create" && verb != "delete" && verb != "describe") continue;
    EXPECT_TRUE(names_of(command).contains(verb + " " + noun)) << command.path;
  }
}

TEST_F(GrammarTest, GroupsShowWhatAliasesPutThere) {
  for (const char* group : {"placement", "clusterset", "cluster", "work", "rollout", "score", "sandbox"}) {
    const std::vector<std::string> words = words_under(registry_, group);
    const auto lists =
        std::count_if(words.begin(), words.end(), [](const std::string& word) { return word == "get" || word == "list"; });
    EXPECT_EQ(lists, 1) << group;
  }
  for (const char* group : {"create", "delete", "describe"}) EXPECT_FALSE(words_under(registry_, group).empty()) << group;
  const std::vector<std::string> nouns = words_under(registry_, "get");
  for (const char* noun : {"clusters", "clustersets", "placements", "works", "rollouts", "scores", "sandboxes"})
    EXPECT_EQ(std::count(nouns.begin(), nouns.end(), noun), 1) << noun;
}

// What is not in a namespace, or not on a hub at all.
TEST_F(GrammarTest, NamespacedListsTakeAllNamespaces) {
  const Names elsewhere = {"get clusters", "get clustersets",    "get token",   "token list",
                           "sandbox list", "sandbox fault list", "plugin list", "cluster claim list"};
  for (const Command& command : registry_.commands()) {
    const Names names = names_of(command);
    if (std::none_of(names.begin(), names.end(), [](const std::string& name) { return name.starts_with("get "); })) continue;
    if (elsewhere.contains(command.path)) continue;
    EXPECT_TRUE(has(command, "all-namespaces")) << command.path;
  }
}

TEST_F(GrammarTest, ALetterMeansOneFlagAndAFlagHasOneLetter) {
  // -f follows a log and -c names one cluster or several; the rest has one meaning.
  const Names one_or_several = {"cluster", "clusters"};
  std::map<char, Names> flags_of;
  std::map<std::string, std::set<char>> letters_of;
  each_flag([&](const Command& command, const Flag& flag) {
    if (flag.letter == 'f' && (command.path == "sandbox logs" || command.path == "logs")) return;
    if (flag.name == "clusters" && flag.value_name == "N") return;  // how many
    if (flag.name == "interactive") return;                         // -i of exec is --stdin, as kubectl's
    if (flag.letter != 0) flags_of[flag.letter].insert(flag.name);
    letters_of[flag.name].insert(flag.letter);
  });
  for (const auto& [letter, names] : flags_of) {
    if (letter == 'c') {
      EXPECT_EQ(names, one_or_several);
    } else {
      EXPECT_EQ(names.size(), 1U) << "-" << letter << " is " << *names.begin() << " and " << *names.rbegin();
    }
  }
  for (const auto& [name, letters] : letters_of) EXPECT_EQ(letters.size(), 1U) << "--" << name;
}

TEST_F(GrammarTest, OtherNamesAreAliasesAndNotFlagsOfTheirOwn) {
  for (const Command& command : registry_.commands()) {
    const commands::Invocation call = command.make();
    Names names;
    for (const Flag& flag : call.flags.flags()) {
      EXPECT_FALSE(flag.hidden) << command.path << " --" << flag.name;
      EXPECT_TRUE(names.insert(flag.name).second) << command.path << " --" << flag.name;
      for (const std::string& alias : flag.aliases) EXPECT_TRUE(names.insert(alias).second) << command.path << " --" << alias;
    }
  }
}

TEST_F(GrammarTest, ClustersAndSetsAreNamedByEitherNumber) {
  int found = 0;
  each_flag([&](const Command& command, const Flag& flag) {
    for (const std::string& noun : {std::string("cluster"), std::string("clusterset")}) {
      if (flag.name != noun && flag.name != noun + "s") continue;
      ++found;
      // In help it is the plural where several can be given.
      const bool several = flag.repeated || flag.value_name == "N";
      EXPECT_EQ(flag.name, several ? noun + "s" : noun) << command.path;
      EXPECT_EQ(flag.aliases, std::vector<std::string>{several ? noun : noun + "s"}) << command.path;
    }
  });
  EXPECT_GE(found, 15);
}

TEST_F(GrammarTest, FilesAreNamedAlike) {
  // Other files than the one with what the command is about.
  const Names others = {"kubeconfig",
                        "hub-kubeconfig",
                        "spoke-kubeconfig",
                        "bootstrap-kubeconfig",
                        "ca-file",
                        "proxy-ca-file",
                        "hub-token-file",
                        "managed-cluster-kubeconfig",
                        "member-kubeconfig",
                        "fallback-hub",
                        "token-file",
                        "scenarios",
                        "object",
                        "merge",
                        "config-file",
                        "audit-log",
                        "bundle",
                        "ca-certificates",
                        "auth-file",
                        "image-pull-credential-file",
                        "output-join-command-file"};
  int found = 0;
  each_flag([&](const Command& command, const Flag& flag) {
    if (flag.complete != commands::Complete::kFiles && flag.value_name != "FILE") return;
    if (others.contains(flag.name)) return;
    ++found;
    EXPECT_EQ(flag.name, "filename") << command.path;
    EXPECT_EQ(flag.letter, 'f') << command.path;
  });
  EXPECT_GE(found, 10);
}

TEST_F(GrammarTest, SelectorsAreNamedAlike) {
  each_flag([&](const Command& command, const Flag& flag) {
    if (flag.letter != 'l') return;
    EXPECT_EQ(flag.name, "selector") << command.path;
    EXPECT_EQ(flag.value_name, "SELECTOR") << command.path;
  });
}

TEST_F(GrammarTest, SandboxesAreNamedByArgumentOrFlag) {
  for (const Command& command : registry_.commands()) {
    if (!command.path.starts_with("sandbox ") || command.path == "sandbox node" || command.path == "sandbox list") continue;
    EXPECT_TRUE(has(command, "name")) << command.path;
    // The arguments of the fault commands are faults.
    if (!command.path.starts_with("sandbox fault ")) {
      EXPECT_EQ(command.args.usage, "[NAME]") << command.path;
    }
  }
}

// What a row of the table in docs/conduct.md says of a command.
struct Waiting {
  std::string wait;
  std::string timeout;
};

std::map<std::string, Waiting> documented_waiting() {
  std::ifstream in(testkit::source_folder() + "/docs/conduct.md");
  std::map<std::string, Waiting> rows;
  bool here = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) here = line == "## Waiting";
    if (!here || !line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    std::istringstream row(line.substr(1));
    for (std::string cell; std::getline(row, cell, '|');) {
      cell.erase(0, cell.find_first_not_of(' '));
      cell.erase(cell.find_last_not_of(' ') + 1);
      cells.push_back(cell);
    }
    if (cells.size() < 4) continue;
    // "`work create`, `work apply`"
    for (std::size_t at = cells[0].find('`'); at != std::string::npos;) {
      const std::size_t end = cells[0].find('`', at + 1);
      rows[cells[0].substr(at + 1, end - at - 1)] = {cells[2], cells[3]};
      at = cells[0].find('`', end + 1);
    }
  }
  return rows;
}

TEST_F(GrammarTest, WaitingIsTheDocumentedOne) {
  std::map<std::string, Waiting> documented = documented_waiting();
  EXPECT_EQ(commands::kWaitTimeout, std::chrono::minutes(5));
  const std::string usual = "5m";
  for (const Command& command : registry_.commands()) {
    const commands::Invocation call = command.make();
    const auto& flags = call.flags.flags();
    const auto named = [&](const std::string& name) {
      return std::find_if(flags.begin(), flags.end(), [&](const Flag& flag) { return flag.name == name; });
    };
    const auto timeout = named("timeout");
    const auto wait = named("wait");
    EXPECT_TRUE(wait == flags.end() || timeout != flags.end()) << command.path << ": --wait without --timeout";
    EXPECT_TRUE(!command.path.ends_with(" delete") || wait != flags.end()) << command.path << " has no --wait";
    if (timeout == flags.end()) continue;
    ASSERT_TRUE(documented.contains(command.path)) << command.path << " is not in docs/conduct.md, Waiting";
    const Waiting row = documented[command.path];
    documented.erase(command.path);
    const bool rollout = command.path == "addon upgrade" || command.path == "rollout start" || command.path == "rollout status" ||
                         command.path == "rollout run";
    EXPECT_EQ(timeout->default_text, rollout || command.path == "in-pod" ? "no limit" : usual) << command.path;
    EXPECT_EQ(row.timeout, timeout->default_text) << command.path;
    if (wait == flags.end()) {
      EXPECT_TRUE(row.wait == "always" || row.wait == "with `-w`") << command.path;
      continue;
    }
    EXPECT_EQ(row.wait, wait->default_text) << command.path;
    // What is deleted is waited for, as kubectl does.
    if (command.path.ends_with(" delete")) {
      EXPECT_EQ(wait->default_text, "true") << command.path;
    }
    EXPECT_EQ(wait->arity, Arity::kOptionalValue) << command.path;
    for (const char* value : {"true", "false", "none"}) {
      EXPECT_TRUE(wait->set(value)) << command.path << " --wait=" << value;
      EXPECT_TRUE(wait->values.empty() || std::find(wait->values.begin(), wait->values.end(), value) != wait->values.end())
          << command.path << " --wait=" << value;
    }
    EXPECT_TRUE(wait->set(wait->no_value)) << command.path;
  }
  for (const auto& [path, row] : documented) ADD_FAILURE() << path << " is documented and does not wait";
}

TEST(FlagAliasTest, AnAliasIsTheSameFlagAndIsNotShown) {
  commands::FlagSet set;
  std::vector<std::string> clusters;
  commands::clusters_flag(set, &clusters, "clusters");
  FlagList list;
  for (const Flag& flag : set.flags()) list.push_back(&flag);
  const auto argv = normalise({"--cluster", "a", "--clusters=b,c", "-c", "d"}, list);
  ASSERT_TRUE(argv);
  EXPECT_EQ(argv->flags, (std::vector<std::string>{"--clusters=a", "--clusters=b,c", "--clusters=d"}));
  EXPECT_EQ(flag_label(*list.front()), "  -c, --clusters NAME[,NAME...]");
}

TEST(WaitFlagTest, TrueFalseAndNoneMeanTheSameEverywhere) {
  commands::FlagSet set;
  std::string condition;
  bool gone = true;
  const auto& choice = commands::wait_flag(set, &condition, {"applied", "ready"}, "ready", "wait");
  EXPECT_EQ(condition, "none");
  ASSERT_TRUE(choice.set("true"));
  EXPECT_EQ(condition, "ready");
  ASSERT_TRUE(choice.set("applied"));
  EXPECT_EQ(condition, "applied");
  ASSERT_TRUE(choice.set("false"));
  EXPECT_EQ(condition, "none");
  const auto& plain = commands::wait_flag(set, &gone, "wait");
  EXPECT_EQ(plain.default_text, "true");
  ASSERT_TRUE(plain.set("none"));
  EXPECT_FALSE(gone);
}

}  // namespace
}  // namespace fleetadm::cli
