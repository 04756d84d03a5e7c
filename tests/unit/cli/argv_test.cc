// kubectl's argv rules, one row a rule (docs/reference/cli.md#arguments).
#include <gtest/gtest.h>

#include "cli/argv/normalise.h"
#include "cli/argv/parser.h"
#include "cli/globals.h"

namespace fleetadm::cli {
namespace {

using commands::Arity;
using commands::Flag;
using commands::FlagSet;

struct Values {
  std::vector<std::string> files;
  std::vector<std::string> sets;
  std::vector<std::string> clusters;
  std::string output = "unset";
  std::string ns = "unset";
  std::string dry_run = "none";
  bool wait = false;
  bool quiet = false;
  std::int64_t v = 0;
  Duration timeout{};
  std::string mode = "a";
};

class ArgvTest : public ::testing::Test {
 protected:
  ArgvTest() {
    set_.texts(&values_.files, "filename", "", 'f');
    set_.texts(&values_.sets, "set", "");
    set_.comma_texts(&values_.clusters, "clusters", "");
    set_.text(&values_.output, "output", "", 'o');
    set_.text(&values_.ns, "namespace", "", 'n');
    Flag& dry_run = set_.choice(&values_.dry_run, "dry-run", {"none", "client", "server"}, "");
    dry_run.arity = Arity::kOptionalValue;
    dry_run.no_value = "client";
    set_.boolean(&values_.wait, "wait", "");
    set_.boolean(&values_.quiet, "quiet", "", 'q');
    set_.integer(&values_.v, "v", "", 'v');
    set_.duration(&values_.timeout, "timeout", "");
    set_.choice(&values_.mode, "mode", {"a", "bee"}, "");
    for (const Flag& flag : set_.flags()) list_.push_back(&flag);
  }

  // The error's text, or "" where all went well.
  std::string parse(const std::vector<std::string>& words) {
    Result<NormalArgv> argv = normalise(words, list_);
    if (!argv) return argv.error().message;
    argv_ = std::move(*argv);
    const Status ok = set_flags(argv_, list_);
    if (!ok) {
      EXPECT_EQ(ok.error().category, Category::kUsage);
    }
    return ok ? "" : ok.error().message;
  }

  using Words = std::vector<std::string>;
  Values values_;
  FlagSet set_;
  FlagList list_;
  NormalArgv argv_;
};

TEST_F(ArgvTest, ARepeatedFlagTakesOneWordEach) {
  EXPECT_EQ(parse({"-f", "a.yaml", "name1", "-f", "b.yaml", "name2"}), "");
  EXPECT_EQ(values_.files, (Words{"a.yaml", "b.yaml"}));
  EXPECT_EQ(argv_.args, (Words{"name1", "name2"}));
}

TEST_F(ArgvTest, ALetterTakesItsValueInEveryForm) {
  for (const Words& words :
       {Words{"-o=json"}, Words{"-ojson"}, Words{"-o", "json"}, Words{"--output=json"}, Words{"--output", "json"}}) {
    values_.output = "unset";
    EXPECT_EQ(parse(words), "");
    EXPECT_EQ(values_.output, "json") << words.front();
    EXPECT_TRUE(argv_.args.empty());
  }
}

TEST_F(ArgvTest, AnOptionalValueComesOnlyWithEquals) {
  EXPECT_EQ(parse({"--dry-run", "server"}), "");
  EXPECT_EQ(values_.dry_run, "client");
  EXPECT_EQ(argv_.args, Words{"server"});
  EXPECT_EQ(parse({"--dry-run=server"}), "");
  EXPECT_EQ(values_.dry_run, "server");
}

TEST_F(ArgvTest, BooleansTakeGosWords) {
  EXPECT_EQ(parse({"--wait"}), "");
  EXPECT_TRUE(values_.wait);
  EXPECT_EQ(parse({"--wait=false"}), "");
  EXPECT_FALSE(values_.wait);
  EXPECT_EQ(parse({"--wait=T"}), "");
  EXPECT_TRUE(values_.wait);
  EXPECT_EQ(parse({"--wait=maybe"}), "invalid value \"maybe\" for --wait: not true or false");
}

TEST_F(ArgvTest, TheLastOfASingleFlagWins) {
  EXPECT_EQ(parse({"-o", "json", "-o", "yaml"}), "");
  EXPECT_EQ(values_.output, "yaml");
}

TEST_F(ArgvTest, AnEmptyValueIsAValue) {
  EXPECT_EQ(parse({"--namespace=", "name1"}), "");
  EXPECT_EQ(values_.ns, "");
  EXPECT_EQ(argv_.args, Words{"name1"});
  EXPECT_EQ(parse({"--namespace", "", "name1"}), "");
  EXPECT_EQ(values_.ns, "");
}

TEST_F(ArgvTest, ADoubleDashEndsTheFlags) {
  EXPECT_EQ(parse({"pod", "-q", "--", "ls", "--all", "-q", "--"}), "");
  EXPECT_TRUE(argv_.dash);
  EXPECT_EQ(argv_.args, Words{"pod"});
  EXPECT_EQ(argv_.after_dash, (Words{"ls", "--all", "-q", "--"}));
}

TEST_F(ArgvTest, LettersCluster) {
  EXPECT_EQ(parse({"-qv5"}), "");
  EXPECT_TRUE(values_.quiet);
  EXPECT_EQ(values_.v, 5);
  EXPECT_EQ(parse({"-qojson"}), "");
  EXPECT_EQ(values_.output, "json");
  EXPECT_EQ(parse({"-q=false"}), "");
  EXPECT_FALSE(values_.quiet);
}

TEST_F(ArgvTest, ASingleDashIsAnArgument) {
  EXPECT_EQ(parse({"-f", "-", "-"}), "");
  EXPECT_EQ(values_.files, Words{"-"});
  EXPECT_EQ(argv_.args, Words{"-"});
}

TEST_F(ArgvTest, ValuesMayLookLikeAnything) {
  EXPECT_EQ(parse({"--set", "-x", "--set=--y", "--set", "[a,b]", "--set={}", "--set=a=b", "--set", "%%"}), "");
  EXPECT_EQ(values_.sets, (Words{"-x", "--y", "[a,b]", "{}", "a=b", "%%"}));
}

TEST_F(ArgvTest, CommaListsSplitAndAdd) {
  EXPECT_EQ(parse({"--clusters", "c1,c2", "--clusters=c3,"}), "");
  EXPECT_EQ(values_.clusters, (Words{"c1", "c2", "c3"}));
}

TEST_F(ArgvTest, UnderscoresAreDashes) {
  EXPECT_EQ(parse({"--dry_run=server"}), "");
  EXPECT_EQ(values_.dry_run, "server");
}

TEST_F(ArgvTest, DurationsAreGosOrSeconds) {
  EXPECT_EQ(parse({"--timeout=90"}), "");
  EXPECT_EQ(values_.timeout, std::chrono::seconds(90));
  EXPECT_EQ(parse({"--timeout=1m30s"}), "");
  EXPECT_EQ(values_.timeout, std::chrono::seconds(90));
  EXPECT_EQ(parse({"--timeout=soon"}), "invalid value \"soon\" for --timeout: not a duration like 30s, 5m or 1h30m");
  EXPECT_EQ(parse({"--timeout="}), "invalid value \"\" for --timeout: not a duration like 30s, 5m or 1h30m");
  EXPECT_EQ(parse({"--timeout=99999999999999999999"}),
            "invalid value \"99999999999999999999\" for --timeout: not a whole number");
}

TEST_F(ArgvTest, NumbersAreWhole) {
  EXPECT_EQ(parse({"-v", "x"}), "invalid value \"x\" for --v: not a whole number");
  EXPECT_EQ(parse({"-v=-3"}), "");
  EXPECT_EQ(values_.v, -3);
}

TEST_F(ArgvTest, WrongFlagsNameTheNearest) {
  Result<NormalArgv> argv = normalise({"--namspace=x"}, list_);
  ASSERT_FALSE(argv);
  EXPECT_EQ(argv.error().category, Category::kUsage);
  EXPECT_EQ(argv.error().message, "unknown flag: --namspace");
  EXPECT_EQ(argv.error().hint, "did you mean --namespace?");
  EXPECT_EQ(parse({"-x"}), "unknown flag: -x");
  EXPECT_EQ(parse({"-qx"}), "unknown flag: -x in -qx");
  EXPECT_EQ(parse({"--=x"}), "unknown flag: --");
}

TEST_F(ArgvTest, AValueIsMissingAtTheEnd) {
  EXPECT_EQ(parse({"--output"}), "flag --output needs a value");
  EXPECT_EQ(parse({"-qo"}), "flag --output needs a value");
}

TEST_F(ArgvTest, HelpWinsOverMistakesAfterIt) {
  EXPECT_EQ(parse({"-h", "--nothing"}), "");
  EXPECT_TRUE(argv_.help);
  EXPECT_EQ(parse({"-qh"}), "");
  EXPECT_TRUE(argv_.help);
}

TEST_F(ArgvTest, HelpThatIsNotWanted) {
  EXPECT_EQ(parse({"--help=false", "-q"}), "");
  EXPECT_FALSE(argv_.help);
  EXPECT_EQ(parse({"--help=true"}), "");
  EXPECT_TRUE(argv_.help);
}

TEST_F(ArgvTest, ChoicesNameWhatIsAllowed) {
  EXPECT_EQ(parse({"--mode=be"}), "invalid value \"be\" for --mode: must be one of a, bee");
}

TEST_F(ArgvTest, RequiredFlagsAreNamedTogether) {
  set_.flags()[0].required = true;
  set_.flags()[4].required = true;
  EXPECT_EQ(parse({"x"}), "missing required flags: --filename, --namespace");
  EXPECT_EQ(parse({"-n", "", "-f", "x"}), "");
}

TEST(AllFlagsTest, ACommandsOwnFlagHidesTheGlobalOneAndKeepsItsLetter) {
  commands::GlobalOptions options;
  const FlagSet globals = global_flags(options);
  std::string mine, other;
  FlagSet own;
  own.text(&mine, "output", "");
  own.text(&other, "nothing", "", 'n');
  const AllFlags all = all_flags(own, globals);
  EXPECT_EQ(flag_named(all.list, "output"), &own.flags()[0]);
  EXPECT_EQ(flag_lettered(all.list, 'n'), &own.flags()[1]);
  ASSERT_NE(flag_named(all.list, "namespace"), nullptr);
  EXPECT_EQ(flag_named(all.list, "namespace")->letter, 0);
}

TEST(GlobalFlagsTest, VerbosityIsANumber) {
  commands::GlobalOptions options;
  const FlagSet globals = global_flags(options);
  const AllFlags all = all_flags({}, globals);
  Result<NormalArgv> argv = normalise({"-v6", "--dry-run", "--as-group=a", "--as-group", "b", "--request-timeout=5s"}, all.list);
  ASSERT_TRUE(argv);
  ASSERT_TRUE(set_flags(*argv, all.list));
  EXPECT_EQ(options.verbosity, 6);
  EXPECT_EQ(options.dry_run, kube::DryRun::kClient);
  EXPECT_EQ(options.config.as_groups, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.request_timeout, std::chrono::seconds(5));
  argv = normalise({"-vx"}, all.list);
  ASSERT_TRUE(argv);
  EXPECT_FALSE(set_flags(*argv, all.list));
}

}  // namespace
}  // namespace fleetadm::cli
