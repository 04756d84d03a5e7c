#include "cli/complete.h"

#include <gtest/gtest.h>

#include "cli/app.h"

namespace fleetadm::cli {
namespace {

using commands::Complete;
using Words = std::vector<std::string>;

struct Options {
  std::string mode;
  std::vector<std::string> clusters;
  std::vector<std::string> files;
};

class CompleteTest : public ::testing::Test {
 protected:
  CompleteTest() {
    commands::Command command;
    command.path = "work send";
    command.summary = "Send work";
    command.args = {"NAME [NAME]", 1, 2, false, Complete::kWorks};
    command.make = commands::invocation<Options>(
        [](commands::FlagSet& flags, Options& options) {
          flags.choice(&options.mode, "mode", {"fast", "full", "slow"}, "how to send", 'm');
          flags.comma_texts(&options.clusters, "clusters", "where to").complete = Complete::kClusters;
          flags.text(&options.mode, "placement", "which").complete = Complete::kPlacements;
          flags.texts(&options.files, "filename", "what", 'f').complete = Complete::kFiles;
          flags.texts(&options.files, "secret", "not shown").hidden = true;
        },
        [](const Options&, const Words&) -> Status { return {}; },
        [](commands::Context&, const Options&, const Words&) -> Result<commands::Report> { return commands::Report{}; });
    registry_.add(command);
    command.path = "work stop";
    command.summary = "Stop work";
    registry_.add(command);
    command.path = "rollout stop";
    command.args = {"NAME", 1, 1, false, Complete::kRollouts, {"addon/"}};
    registry_.add(command);
    command.path = "__hidden";
    command.hidden = true;
    registry_.add(command);
  }

  std::string run(const Words& words) {
    return complete(registry_, words, [this](Complete kind, const commands::GlobalOptions& globals) -> std::vector<LiveName> {
      ++asked_;
      context_ = globals.config.context;
      ns_ = globals.config.ns;
      if (kind == Complete::kClusters) return {{"c1", ""}, {"c10", ""}, {"d1", ""}};
      if (kind == Complete::kWorks) return {{"w1", ""}, {"w2", ""}};
      if (kind == Complete::kRollouts) return {{"web", ""}};
      if (kind == Complete::kAddons) return {{"hello", ""}, {"other", ""}};
      if (kind == Complete::kContexts) return {{"hub", ""}, {"spoke", ""}};
      if (kind == Complete::kPlacements) return {{"all", "3 clusters, 2d"}, {"any", ""}};
      return {};
    });
  }

  commands::Registry registry_;
  std::string context_;
  std::string ns_;
  int asked_ = 0;
};

TEST_F(CompleteTest, AFixedWordStandsBesideLiveNames) {
  EXPECT_EQ(run({"rollout", "stop", ""}), "addon/\nweb\n:none\n");
  EXPECT_EQ(run({"rollout", "stop", "a"}), "addon/\n:nospace\n");
  EXPECT_EQ(run({"rollout", "stop", "addon/h"}), "addon/hello\n:none\n");
  EXPECT_EQ(ns_, "") << "addon/ is no namespace";
  EXPECT_EQ(run({"rollout", "stop", "apps/"}), "apps/web\n:none\n");
  EXPECT_EQ(ns_, "apps");
}

TEST_F(CompleteTest, Commands) {
  EXPECT_EQ(run({""}), "work\nrollout\n:none\n");
  EXPECT_EQ(run({"work", ""}), "send\tSend work\nstop\tStop work\n:none\n");
  EXPECT_EQ(run({"work", "se"}), "send\tSend work\n:none\n");
  EXPECT_EQ(run({"nothing", ""}), ":none\n");
  EXPECT_EQ(run({}), "work\nrollout\n:none\n");
  EXPECT_EQ(asked_, 0);
}

TEST_F(CompleteTest, FlagsOfTheCommandAndGlobalOnes) {
  EXPECT_EQ(run({"work", "send", "--m"}), "--mode\tHow to send\n:none\n");
  EXPECT_EQ(run({"work", "send", "--kubec"}).find("--kubeconfig\t"), 0U);
  EXPECT_EQ(run({"--cont"}).find("--context\t"), 0U);
  EXPECT_EQ(run({"work", "send", "--sec"}), ":none\n");
}

TEST_F(CompleteTest, FlagValuesInEveryForm) {
  EXPECT_EQ(run({"work", "send", "--mode", "f"}), "fast\nfull\n:none\n");
  EXPECT_EQ(run({"work", "send", "--mode=f"}), "--mode=fast\n--mode=full\n:none\n");
  EXPECT_EQ(run({"work", "send", "-m", ""}), "fast\nfull\nslow\n:none\n");
  EXPECT_EQ(run({"work", "send", "-m=s"}), "-m=slow\n:none\n");
  EXPECT_EQ(run({"work", "send", "-f", ""}), ":files\n");
  EXPECT_EQ(run({"work", "send", "-o", "j"}), "json\njsonpath=\n:none\n");
  EXPECT_EQ(run({"work", "send", "-o", "jsonp"}), "jsonpath=\n:nospace\n");
  EXPECT_EQ(run({"work", "send", "--dry-run=s"}), "--dry-run=server\n:none\n");
  EXPECT_EQ(run({"work", "send", "--nothing=s"}), ":none\n");
}

TEST_F(CompleteTest, LiveNamesOfTheLinesContext) {
  EXPECT_EQ(run({"--context", "hub", "work", "send", "--clusters", "c"}), "c1\nc10\n:none\n");
  EXPECT_EQ(context_, "hub");
  EXPECT_EQ(run({"work", "send", "--clusters", "d1,c"}), "d1,c1\nd1,c10\n:none\n");
  EXPECT_EQ(run({"work", "send", "--clusters=d1,"}), "--clusters=d1,c1\n--clusters=d1,c10\n:none\n");
  EXPECT_EQ(run({"work", "send", "--clusters", "d1,c1,"}), "d1,c1,c10\n:none\n");
  EXPECT_EQ(run({"--context", "s"}), "spoke\n:none\n");
}

TEST_F(CompleteTest, LiveNamesKeepTheirDescriptionsAndTheirNamespace) {
  EXPECT_EQ(run({"-n", "apps", "work", "send", "--placement", "a"}), "all\t3 clusters, 2d\nany\n:none\n");
  EXPECT_EQ(ns_, "apps");
  EXPECT_EQ(run({"work", "send", "--placement", "infra/al"}), "infra/all\t3 clusters, 2d\n:none\n");
  EXPECT_EQ(ns_, "infra");
  EXPECT_EQ(run({"work", "send", "--placement=infra/an"}), "--placement=infra/any\n:none\n");
}

TEST_F(CompleteTest, ArgumentsOnceEachUpToTheLast) {
  EXPECT_EQ(run({"work", "send", ""}), "w1\nw2\n:none\n");
  EXPECT_EQ(run({"work", "send", "w1", ""}), "w2\n:none\n");
  EXPECT_EQ(run({"work", "send", "w1", "w2", ""}), ":none\n");
  EXPECT_EQ(run({"work", "send", "--", ""}), ":files\n");
}

TEST(RealRegistryTest, HelpCompletesCommandsAndTopics) {
  const commands::Registry registry = full_registry();
  const auto none = [](Complete, const commands::GlobalOptions&) { return std::vector<LiveName>{}; };
  const std::string all = complete(registry, {"help", ""}, none);
  EXPECT_NE(all.find("\njoin\t"), std::string::npos) << all;
  EXPECT_NE(all.find("scenarios\t"), std::string::npos) << "topics, too";
  EXPECT_EQ(all.find("__generate"), std::string::npos);
  EXPECT_EQ(complete(registry, {"help", "get", "clusters"}, none).find("clusters\t"), 0U);
  EXPECT_EQ(complete(registry, {"help", "get", "scen"}, none), ":none\n");
}

TEST(RealRegistryTest, NamesOfEveryKindAreAskedFor) {
  const commands::Registry registry = full_registry();
  const std::vector<std::pair<Words, Complete>> places = {{{"get", "clusters", ""}, Complete::kClusters},
                                                          {{"clusterset", "bind", ""}, Complete::kClusterSets},
                                                          {{"placement", "describe", ""}, Complete::kPlacements},
                                                          {{"work", "create", "x", "--placement", ""}, Complete::kPlacements},
                                                          {{"work", "status", ""}, Complete::kWorks},
                                                          {{"rollout", "status", ""}, Complete::kRollouts},
                                                          {{"rollout", "undo", ""}, Complete::kRollouts},
                                                          {{"sandbox", "down", "--name", ""}, Complete::kSandboxes},
                                                          {{"sandbox", "logs", ""}, Complete::kSandboxes},
                                                          {{"version", "--context", ""}, Complete::kContexts},
                                                          {{"version", "-n", ""}, Complete::kNamespaces}};
  for (const auto& [words, wanted] : places) {
    std::vector<Complete> asked;
    complete(registry, words, [&](Complete kind, const commands::GlobalOptions&) -> std::vector<LiveName> {
      asked.push_back(kind);
      return {};
    });
    EXPECT_EQ(asked, std::vector<Complete>{wanted}) << words.front() << " " << words[1];
  }
}

TEST(RealRegistryTest, EveryCommandAnswersInEveryPlace) {
  const commands::Registry registry = full_registry();
  const auto none = [](Complete, const commands::GlobalOptions&) { return std::vector<LiveName>{}; };
  for (const commands::Command& command : registry.commands()) {
    Words words;
    for (std::size_t at = 0; at <= command.path.size();) {
      const std::size_t end = std::min(command.path.find(' ', at), command.path.size());
      words.push_back(command.path.substr(at, end - at));
      at = end + 1;
    }
    words.emplace_back("--");
    const std::string flags = complete(registry, words, none);
    EXPECT_NE(flags.find("--context"), std::string::npos) << command.path;
    words.back() = "";
    EXPECT_EQ(complete(registry, words, none).back(), '\n') << command.path;
  }
}

}  // namespace
}  // namespace fleetadm::cli
