// rollout pause, resume, abort, restart, undo and history of addon/NAME, against a hub in memory.
#include <gtest/gtest.h>

#include "commands/rollout/rollout.h"
#include "core/addon/rules/rollout_revisions.h"
#include "core/work/rules/replica_set_revisions.h"
#include "tests/support/addon_rollouts.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

class AddonRollouts : public testing::Test {
 protected:
  explicit AddonRollouts(std::size_t clusters = 3) : hub_(names(clusters)) { register_rollout(registry_); }

  static std::vector<std::string> names(std::size_t count) {
    std::vector<std::string> all;
    for (std::size_t i = 1; i <= count; ++i) all.push_back("c" + std::to_string(i));
    return all;
  }
  Result<Report> run(const std::string& verb, const Flags& flags = {}) {
    return testkit::run_command(registry_, "rollout " + verb, context_, flags, {"addon/hello"});
  }
  /// "base" everywhere, then "next" on the first cluster.
  void begin_upgrade() {
    hub_.finish();
    hub_.put_config("next", "two");
    hub_.set_default("next");
    hub_.pass();
    ASSERT_EQ(hub_.config_on("c1"), "next");
    ASSERT_EQ(hub_.config_on("c2"), "base");
  }
  int status() {
    const auto report = run("status");
    EXPECT_TRUE(report) << report.error().message;
    return report ? report->exit_code : -1;
  }

  testkit::AddonRolloutHub hub_;
  testkit::FakeContext context_{hub_.api->client()};
  Registry registry_;
};

TEST_F(AddonRollouts, PauseKeepsWhoHasNotBegunUntilResumed) {
  begin_upgrade();
  const auto paused = run("pause", {{"wait", "false"}});
  ASSERT_TRUE(paused) << paused.error().message;
  EXPECT_EQ(paused->lines.at(0), "rollout addon/hello paused");
  EXPECT_EQ(run("pause", {{"wait", "false"}})->lines.at(0), "rollout addon/hello is already paused");
  hub_.finish();
  EXPECT_EQ(hub_.config_on("c1"), "next");
  EXPECT_EQ(hub_.config_on("c2"), "base");
  EXPECT_EQ(status(), 7);
  ASSERT_TRUE(run("pause")) << "the hub has confirmed it";
  ASSERT_TRUE(run("resume", {{"wait", "false"}}));
  EXPECT_EQ(run("resume")->lines.at(0), "rollout addon/hello is not paused");
  hub_.finish();
  EXPECT_EQ(hub_.config_on("c3"), "next");
  EXPECT_EQ(status(), 0);
}

TEST_F(AddonRollouts, OneWithAManagerOfItsOwnIsNotPaused) {
  Json own = hub_.declaration();
  at_or_make(own, {"metadata", "annotations", "addon.open-cluster-management.io/lifecycle"}) = "self";
  hub_.api->put(api::cluster_management_addons_v1beta1(), own);
  for (const char* verb : {"pause", "undo", "abort"}) EXPECT_EQ(run(verb).error().category, Category::kUnsupported) << verb;
}

TEST_F(AddonRollouts, APauseThatTheHubDoesNotConfirmIsNotCalledDone) {
  begin_upgrade();
  const auto paused = run("pause", {{"timeout", "1s"}});
  ASSERT_FALSE(paused);
  EXPECT_EQ(paused.error().category, Category::kTimeout);
}

TEST_F(AddonRollouts, UndoNamesTheEarlierConfigurationAgainAndHistoryTells) {
  begin_upgrade();
  hub_.finish();
  const auto undone = run("undo");
  ASSERT_TRUE(undone) << undone.error().message;
  EXPECT_EQ(undone->lines.at(0), "rollout addon/hello is being rolled back to revision 1");
  EXPECT_EQ(undone->lines.at(1), "default addondeploymentconfigs apps/next -> apps/base");
  EXPECT_EQ(hub_.default_config(), "base");
  hub_.finish();
  EXPECT_EQ(hub_.config_on("c3"), "base");
  const auto history = run("history");
  ASSERT_TRUE(history) << history.error().message;
  const Json& items = history->data.at("items");
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(str(items[1], {"outcome"}), "Complete");
  EXPECT_EQ(num(items[2], {"copiedFrom"}), 1);
  EXPECT_EQ(str(items[2], {"outcome"}), "Complete");
  EXPECT_EQ(run("undo", {{"to-revision", "3"}})->lines.at(0), "rollout addon/hello already has the configurations of revision 3");
  EXPECT_EQ(run("undo", {{"to-revision", "9"}}).error().category, Category::kNotFound);
  const auto one = run("history", {{"revision", "2"}});
  ASSERT_TRUE(one);
  EXPECT_EQ(str(one->data, {"kind"}), "AddonRolloutRevision");
  EXPECT_NE(one->lines.at(0).find("default addondeploymentconfigs apps/next"), std::string::npos) << one->lines.at(0);
}

TEST_F(AddonRollouts, WhatEveryClusterHadIsCompleteAlthoughTheHubHadNotNotedItYet) {
  begin_upgrade();
  for (int i = 0; i < 2; ++i) {
    hub_.succeed();
    hub_.pass();
  }
  hub_.succeed();
  ASSERT_EQ(hub_.config_on("c3"), "next");
  ASSERT_FALSE(addon::addon_revisions(hub_.declaration()).back().finished);
  EXPECT_EQ(status(), 0);
  ASSERT_TRUE(run("undo"));
  const auto revisions = addon::addon_revisions(hub_.declaration());
  ASSERT_EQ(revisions.size(), 3U);
  EXPECT_TRUE(revisions[1].finished);
  EXPECT_FALSE(revisions[2].finished);
}

TEST_F(AddonRollouts, UndoOnAHubThatNotesNothingFindsNoRevision) {
  const auto undone = run("undo");
  ASSERT_FALSE(undone);
  EXPECT_EQ(undone.error().category, Category::kNotFound);
  EXPECT_EQ(run("history")->data.at("items").size(), 0U);
}

TEST_F(AddonRollouts, UndoOfAnEditByHandSaysThatTheContentsAreNotKnown) {
  hub_.finish();
  hub_.put_config("base", "two");
  hub_.finish();
  const auto undone = run("undo");
  ASSERT_FALSE(undone);
  EXPECT_EQ(undone.error().category, Category::kConflict);
  EXPECT_NE(undone.error().message.find("edited in place"), std::string::npos) << undone.error().message;
}

TEST_F(AddonRollouts, AbortReturnsToTheLastRevisionThatEveryClusterHad) {
  begin_upgrade();
  ASSERT_TRUE(run("pause", {{"wait", "false"}}));
  const auto aborted = run("abort");
  ASSERT_TRUE(aborted) << aborted.error().message;
  EXPECT_EQ(aborted->lines.at(0), "rollout addon/hello aborted: revision 2 is given up");
  EXPECT_EQ(aborted->lines.at(1), "default addondeploymentconfigs apps/next -> apps/base");
  EXPECT_EQ(hub_.default_config(), "base");
  EXPECT_FALSE(work::control_of(hub_.declaration()).paused);
  hub_.finish();
  EXPECT_EQ(hub_.config_on("c1"), "base");
  EXPECT_EQ(str(run("history")->data.at("items")[1], {"outcome"}), "Aborted");
  EXPECT_EQ(run("abort").error().category, Category::kConflict) << "it is complete now";

  const auto restarted = run("restart");
  ASSERT_TRUE(restarted) << restarted.error().message;
  EXPECT_EQ(restarted->lines.at(0), "rollout addon/hello restarted with the configurations of revision 2");
  EXPECT_EQ(hub_.default_config(), "next");
  EXPECT_EQ(run("restart")->lines.at(0), "rollout addon/hello has no failed clusters; nothing was restarted");
}

TEST_F(AddonRollouts, AbortOfTheVeryFirstHasNothingToReturnTo) {
  hub_.pass();
  const auto aborted = run("abort");
  ASSERT_FALSE(aborted);
  EXPECT_EQ(aborted.error().category, Category::kConflict);
  EXPECT_NE(aborted.error().hint.find("rollout pause addon/hello"), std::string::npos);
}

TEST_F(AddonRollouts, ADryRunAndAPlanWriteNothing) {
  begin_upgrade();
  hub_.api->forget_calls();
  const auto planned = run("undo", {{"plan", "true"}});
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(str(planned->data, {"kind"}), "AddonRolloutPlan");
  ASSERT_EQ(planned->data.at("clusters").size(), 1U) << "the others never began";
  EXPECT_EQ(str(planned->data.at("clusters")[0], {"cluster"}), "c1");
  EXPECT_EQ(hub_.api->count("patch"), 0);
  auto gate = std::make_shared<kube::WriteGate>();
  gate->dry_run = kube::DryRun::kClient;
  testkit::FakeContext dry(hub_.api->client(gate));
  for (const char* verb : {"pause", "undo", "abort"}) {
    const auto report = testkit::run_command(registry_, std::string("rollout ") + verb, dry, {}, {"addon/hello"});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_NE(report->lines.at(0).find("(dry run)"), std::string::npos) << report->lines.at(0);
  }
  EXPECT_EQ(hub_.api->count("patch"), 0);
}

class ManyAddonRollouts : public AddonRollouts {
 protected:
  ManyAddonRollouts() : AddonRollouts(0) {
    hub_ = testkit::AddonRolloutHub(names(12), {{"type", "All"}});
    many_ = std::make_unique<testkit::FakeContext>(hub_.api->client());
  }
  Result<Report> undo(const Flags& flags) {
    return testkit::run_command(registry_, "rollout undo", *many_, flags, {"addon/hello"});
  }
  std::unique_ptr<testkit::FakeContext> many_;
};

TEST_F(ManyAddonRollouts, ManyClustersAtOnceAreAskedAbout) {
  hub_.finish();
  hub_.put_config("next", "two");
  hub_.set_default("next");
  hub_.finish();
  const auto refused = undo({});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "ManyClusters");
  EXPECT_EQ(hub_.default_config(), "next");
  many_->screen.terminal = true;
  many_->screen.answer = false;
  EXPECT_EQ(undo({}).error().category, Category::kCancelled);
  EXPECT_EQ(many_->screen.asked.size(), 1U);
  EXPECT_TRUE(undo({{"allow-many", "true"}}));
  EXPECT_EQ(hub_.default_config(), "base");
}

}  // namespace
}  // namespace fleetadm::commands
