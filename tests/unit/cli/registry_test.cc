// What holds for every row of the registry, and for the files made from it.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

#include "cli/app.h"
#include "cli/argv/lookup.h"
#include "cli/generate.h"
#include "cli/globals.h"
#include "cli/help.h"
#include "cli/man.h"
#include "cli/render/errors.h"
#include "commands/topics/reference.h"
#include "tests/support/source_folder.h"

namespace fleetadm::cli {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class RegistryTest : public ::testing::Test {
 protected:
  commands::Registry registry_ = full_registry();
};

TEST_F(RegistryTest, PathsAndAliasesAreUnique) {
  std::set<std::string> seen;
  for (const commands::Command& command : registry_.commands()) {
    EXPECT_TRUE(seen.insert(command.path).second) << command.path;
    for (const std::string& alias : command.aliases) EXPECT_TRUE(seen.insert(alias).second) << alias;
  }
}

TEST_F(RegistryTest, RowsAreComplete) {
  const std::set<std::string> groups = {"Fleet", "Clusters", "Placement", "Work", "Add-ons", "Programs", "Sandbox", "Other"};
  for (const commands::Command& command : registry_.commands()) {
    EXPECT_FALSE(command.summary.empty()) << command.path;
    EXPECT_NE(command.summary.back(), '.') << command.path;
    EXPECT_TRUE(groups.count(command.group)) << command.path << ": " << command.group;
    ASSERT_TRUE(command.make) << command.path;
    EXPECT_TRUE(command.make().run) << command.path;
    EXPECT_TRUE(command.args.max < 0 || command.args.max >= command.args.min) << command.path;
    EXPECT_EQ(command.args.max != 0, !command.args.usage.empty()) << command.path;
  }
}

TEST_F(RegistryTest, FlagsHaveOneNameAndOneLetter) {
  for (const commands::Command& command : registry_.commands()) {
    const commands::Invocation call = command.make();
    std::set<std::string> names;
    std::set<char> letters;
    for (const commands::Flag& flag : call.flags.flags()) {
      EXPECT_TRUE(names.insert(flag.name).second) << command.path << " --" << flag.name;
      if (flag.letter != 0) {
        EXPECT_TRUE(letters.insert(flag.letter).second) << command.path << " -" << flag.letter;
      }
      EXPECT_NE(flag.name, "help") << command.path;
      EXPECT_TRUE(flag.set) << command.path << " --" << flag.name;
      if (flag.hidden) continue;
      EXPECT_FALSE(flag.help.empty()) << command.path << " --" << flag.name;
      if (!flag.help.empty()) {
        EXPECT_NE(flag.help.back(), '.') << command.path << " --" << flag.name;
      }
      if (flag.arity == commands::Arity::kOptionalValue) {
        EXPECT_FALSE(flag.no_value.empty()) << command.path << " --" << flag.name;
      }
    }
  }
}

TEST_F(RegistryTest, ExamplesParse) {
  commands::GlobalOptions options;
  const commands::FlagSet globals = global_flags(options);
  const AllFlags global_list = all_flags({}, globals);
  for (const commands::Command& command : registry_.commands()) {
    for (const commands::Example& example : command.examples) {
      bool own = false;
      // A pipeline may call other commands too; each call must be a right one.
      for (std::size_t from = 0; (from = example.line.find("fleetadm ", from)) != std::string::npos; ++from) {
        std::istringstream in(example.line.substr(from + 9));
        std::vector<std::string> words;
        for (std::string word; in >> word && word != "|" && word != ">" && word != "&&";) {
          if (!word.empty() && word.back() == ')') word.pop_back();
          words.push_back(word);
        }
        const auto found = find_command(registry_, words, global_list.list);
        ASSERT_TRUE(found) << example.line << ": " << found.error().message;
        ASSERT_NE(found->command, nullptr) << example.line;
        own = own || found->command == &command;
        const commands::Invocation call = found->command->make();
        const AllFlags all = all_flags(call.flags, globals);
        const auto argv = normalise(found->rest, all.list);
        EXPECT_TRUE(argv) << example.line << ": " << (argv ? "" : argv.error().message);
      }
      EXPECT_TRUE(own) << command.path << ": " << example.line;
    }
  }
}

TEST_F(RegistryTest, HelpNamesEveryCommandAndFlag) {
  const std::string root = root_help(registry_);
  for (const std::string& word : words_under(registry_, "")) EXPECT_NE(root.find("  " + word), std::string::npos) << word;
  for (const commands::Command& command : registry_.commands()) {
    const std::string text = command_help(command);
    EXPECT_NE(text.find("fleetadm " + command.path), std::string::npos) << command.path;
    const commands::Invocation call = command.make();
    for (const commands::Flag& flag : call.flags.flags()) {
      if (!flag.hidden) {
        EXPECT_NE(text.find("--" + flag.name), std::string::npos) << command.path << " --" << flag.name;
      }
    }
  }
  EXPECT_EQ(root.find("__"), std::string::npos);
}

TEST_F(RegistryTest, TheTopicOfExitCodesNamesEveryCode) {
  std::set<int> named;
  for (const commands::ExitCodeText& text : commands::exit_code_texts()) named.insert(text.code);
  for (const int code : {kExitOk, kExitFailure, kExitCancelled, kExitPartial, kExitAuth, kExitNotFound, kExitTimeout, kExitUsage,
                         kExitBrokenPipe}) {
    EXPECT_TRUE(named.count(code)) << code;
  }
}

// The pages that a page refers to: "\\fBfleetadm\\-work\\fR(1)".
std::set<std::string> pages_named_in(const std::string& roff) {
  std::set<std::string> pages;
  for (std::size_t end = 0; (end = roff.find("\\fR(", end)) != std::string::npos; ++end) {
    const std::size_t begin = roff.rfind("\\fB", end) + 3;
    std::string name = roff.substr(begin, end - begin);
    for (std::size_t at = 0; (at = name.find('\\', at)) != std::string::npos;) name.erase(at, 1);
    pages.insert("man/" + name + "." + roff.substr(end + 4, 1));
  }
  return pages;
}

TEST_F(RegistryTest, EveryGroupHasAPageAndIsReferredToBothWays) {
  const auto files = generated_files(registry_);
  for (const auto& [path, text] : files) {
    if (!path.starts_with("man/")) continue;
    for (const std::string& page : pages_named_in(text)) EXPECT_TRUE(files.contains(page)) << path << " names " << page;
    // What whatis(1) reads: one line of name, minus and summary.
    const std::string head = ".SH NAME\nfleetadm";
    const std::size_t name = text.find(head);
    ASSERT_NE(name, std::string::npos) << path;
    const std::string line = text.substr(name + 9, text.find('\n', name + 9) - name - 9);
    EXPECT_NE(line.find(" \\- "), std::string::npos) << line;
    EXPECT_EQ(text.compare(name + 9 + line.size(), 4, "\n.SH"), 0) << path << ": NAME is one line";
  }
  const auto pages_of = [&](const std::string& path) { return pages_named_in(files.at("man/" + path + ".1")); };
  const std::set<std::string> root = pages_of("fleetadm");
  for (const std::string& group : man_groups(registry_)) {
    EXPECT_TRUE(is_group(registry_, group));
    EXPECT_TRUE(root.contains("man/" + man_name(group) + ".1")) << group;
    EXPECT_TRUE(pages_of(man_name(group)).contains("man/fleetadm.1")) << group;
  }
  for (const commands::Command& command : registry_.commands()) {
    if (command.hidden || command.path.find(' ') == std::string::npos) continue;
    const std::string group = man_name(command.path.substr(0, command.path.rfind(' ')));
    EXPECT_TRUE(pages_of(group).contains("man/" + man_name(command.path) + ".1")) << command.path;
    EXPECT_TRUE(pages_of(man_name(command.path)).contains("man/" + group + ".1")) << command.path;
  }
  EXPECT_NE(files.at("man/fleetadm-work.1").find("fleetadm\\-work \\- work commands: "), std::string::npos);
}

TEST_F(RegistryTest, RootHelpNamesEveryTopic) {
  const std::string root = root_help(registry_);
  for (const commands::Topic& topic : registry_.topics())
    EXPECT_NE(root.find("\n  " + topic.name + " "), std::string::npos) << topic.name;
}

TEST_F(RegistryTest, GeneratedFilesAreFresh) {
  const std::filesystem::path root = testkit::source_folder();
  const auto files = generated_files(registry_);
  const std::string how = ": run build/dev/fleetadm __generate . and commit";
  for (const auto& [path, text] : files) EXPECT_TRUE(read_file(root / path) == text) << path << " is stale" << how;
  for (const char* folder : {"man", "completions"}) {
    for (const auto& entry : std::filesystem::directory_iterator(root / folder))
      EXPECT_EQ(files.count(std::string(folder) + "/" + entry.path().filename().string()), 1U)
          << entry.path() << " is of no command" << how;
  }
  const std::string readme = read_file(root / "README.md");
  const std::string output = read_file(root / "docs/machine-output.md");
  EXPECT_NE(output.find("| Forbidden | 4 |"), std::string::npos);
  EXPECT_TRUE(output == with_table(output, "reasons", reason_table())) << "docs/machine-output.md is stale" << how;
  EXPECT_TRUE(readme == with_table(readme, "commands", command_table(registry_))) << "README.md is stale" << how;
}

TEST_F(RegistryTest, ManPagesAreSafeRoff) {
  for (const auto& [path, text] : generated_files(registry_)) {
    if (path.compare(0, 4, "man/") != 0) continue;
    EXPECT_EQ(text.find(".TH "), 0U) << path;
    for (const char* section : {"\n.SH NAME\n", "\n.SH SYNOPSIS\n", "\n.SH DESCRIPTION\n"})
      EXPECT_NE(text.find(section), std::string::npos) << path;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      if (line.empty() || line.front() != '.') continue;
      static const std::set<std::string> known = {".TH", ".SH", ".PP", ".TP", ".RS", ".RE", ".nf", ".fi"};
      EXPECT_TRUE(known.count(line.substr(0, line.find(' ')))) << path << ": " << line;
    }
  }
}

TEST(HelpTest, WrapKeepsParagraphs) {
  EXPECT_EQ(wrap("one two three", 2, 9), "  one two\n  three\n");
  EXPECT_EQ(wrap("a b\n\nc", 0, 80), "a b\n\nc\n");
  EXPECT_EQ(wrap("", 3), "   \n");
  EXPECT_EQ(wrap("averyverylongword x", 0, 5), "averyverylongword\nx\n");
}

TEST(ReadmeTest, OnlyBetweenItsMarks) {
  commands::Registry registry;
  commands::Command command;
  command.path = "get x";
  command.summary = "Get x";
  registry.add(command);
  EXPECT_EQ(with_table("a\n<!-- commands: begin -->\nold\n<!-- commands: end -->\nb", "commands", command_table(registry)),
            "a\n<!-- commands: begin -->\n| command | what it does |\n|---|---|\n| `fleetadm get x` | Get x |\n<!-- commands: "
            "end -->\nb");
  EXPECT_EQ(with_table("no marks", "commands", command_table(registry)), "no marks");
}

}  // namespace
}  // namespace fleetadm::cli
