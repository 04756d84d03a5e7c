// The guard before removals, and files that become several works.
#include "commands/framework/work_guard.h"
#include "core/work/plan/split.h"
#include "tests/unit/commands/work/fixture.h"

namespace fleetadm::commands {
namespace {

constexpr std::size_t kHalf = 300 * 1024;  // two of them are more than one work may have

class WorkGuard : public WorkHub {
 protected:
  static void expect_refused(const Result<Report>& report, const std::string& words) {
    ASSERT_FALSE(report.has_value());
    EXPECT_EQ(report.error().reason, "RemovalsNotAllowed");
    EXPECT_NE(report.error().message.find(words), std::string::npos) << report.error().message;
    EXPECT_NE(report.error().hint.find("--allow-removals"), std::string::npos);
  }
  void apply(const std::string& clusters, const std::string& text) {
    const auto applied = run("work apply", {{"filename", file(text)}, {"clusters", clusters}});
    ASSERT_TRUE(applied.has_value()) << applied.error().message;
    ASSERT_TRUE(applied->failures.empty());
  }
};

TEST_F(WorkGuard, ALargeShareOfTheClustersNeedsAWord) {
  clusters(10);
  apply("c1,c2,c3", config_map("a"));
  const int before = hub_->write_count();
  expect_refused(run("work delete", {{"clusters", "c1,c2,c3"}}), "3 of 10 clusters");
  expect_refused(run("work delete", {{"all-clusters", "true"}}), "3 of 10 clusters");
  expect_refused(run("work delete", {{"selector", "env=dev"}}), "3 of 10 clusters");
  EXPECT_EQ(hub_->write_count(), before);
  EXPECT_TRUE(run("work delete", {{"clusters", "c1,c2"}})) << "two of ten are twenty per cent";
  EXPECT_TRUE(run("work delete", {{"clusters", "c3"}})) << "one cluster is never too large a share";
  apply("c1,c2,c3", config_map("a"));
  EXPECT_TRUE(run("work delete", {{"all-clusters", "true"}, {"allow-removals", "true"}}));
  EXPECT_FALSE(work("c1"));
}

TEST_F(WorkGuard, WhatCannotBeCountedIsTooMuch) {
  clusters(10);
  apply("c1,c2", config_map("a"));
  hub_->fail_next("list", "managedclusters", 403, "Forbidden");
  expect_refused(run("work delete", {{"clusters", "c1,c2"}}), "could not be read");
  EXPECT_TRUE(work("c1"));
}

TEST_F(WorkGuard, ManyObjectsNeedAWord) {
  clusters(1);
  std::string many;
  for (int i = 0; i < 6; ++i) many += config_map("m" + std::to_string(i));
  apply("c1", many);
  const Flags fewer{{"filename", file(config_map("m0"))}, {"clusters", "c1"}, {"max-removed-objects", "4"}};
  expect_refused(run("work apply", fewer), "would delete 5 objects");
  expect_refused(run("work delete", {{"clusters", "c1"}, {"max-removed-objects", "5"}}), "would delete 6 objects");
  EXPECT_EQ(objects_of(work("c1")).size(), 6U);
  Json orphaning = *work("c1");
  orphaning["spec"]["deleteOption"] = {{"propagationPolicy", "Orphan"}};
  hub_->put(api::manifest_works(), orphaning);
  EXPECT_TRUE(run("work apply", fewer)) << "objects that stay are not counted";
}

TEST_F(WorkGuard, PruningSparesTheUnreachable) {
  clusters(4);
  apply("c1,c2,c3,c4", config_map("a"));
  unreachable("c4");
  const Flags narrower{{"filename", file(config_map("a"))}, {"clusters", "c1"}, {"prune", "true"}};
  expect_refused(run("work apply", narrower), "2 of 4 clusters");
  Flags allowed = narrower;
  allowed.emplace_back("allow-removals", "true");
  const auto pruned = run("work apply", allowed);
  ASSERT_TRUE(pruned.has_value()) << pruned.error().message;
  EXPECT_FALSE(work("c2"));
  EXPECT_FALSE(work("c3"));
  EXPECT_TRUE(work("c4")) << "unreachable is not deselected";
  ASSERT_EQ(pruned->notes.size(), 1U);
  EXPECT_NE(pruned->notes[0].find("c4 is unreachable"), std::string::npos);
}

TEST_F(WorkGuard, AMisspelledClusterIsNoReasonToPruneTheOneThatWasMeant) {
  clusters(4);
  apply("c1,c2", config_map("a"));
  const auto refused = run("work apply", {{"filename", file(config_map("a"))}, {"clusters", "c1,c22"}, {"prune", "true"}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().category, Category::kNotFound);
  EXPECT_TRUE(work("c2"));
}

TEST_F(WorkGuard, ATerminalIsAskedAboutWhatAScriptIsRefused) {
  clusters(10);
  apply("c1,c2,c3", config_map("a"));
  context_.screen.terminal = true;
  context_.screen.answer = false;
  EXPECT_EQ(run("work delete", {{"clusters", "c1,c2,c3"}}).error().category, Category::kCancelled);
  ASSERT_EQ(context_.screen.asked.size(), 1U);
  EXPECT_NE(context_.screen.asked[0].find("3 of 10 clusters"), std::string::npos) << context_.screen.asked[0];
  EXPECT_TRUE(work("c1"));
  const auto plan = run("work delete", {{"clusters", "c1,c2,c3"}, {"plan", "true"}});
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_EQ(str(plan->data, {"kind"}), "RemovalPlan");
  EXPECT_EQ(list_at(plan->data, {"losses"}).size(), 3U);
  EXPECT_EQ(num(plan->data, {"objects"}), 3);
  EXPECT_TRUE(work("c1"));
  EXPECT_TRUE(run("work delete", {{"clusters", "c1,c2,c3"}, {"yes", "true"}}));
  EXPECT_FALSE(work("c1"));
}

TEST_F(WorkGuard, DryRunsSaySoAndAreNotRefused) {
  clusters(4);
  apply("c1,c2,c3", config_map("a"));
  placement("p", {"c1"});
  auto gate = std::make_shared<kube::WriteGate>();
  gate->dry_run = kube::DryRun::kClient;
  testkit::FakeContext dry(hub_->client(gate), clock_);
  const std::string manifests = file(config_map("b"));
  const auto first_line = [&](const std::string& path, const Flags& flags, const std::string& name) {
    const auto report = testkit::run_command(registry_, path, dry, flags, {name});
    return report ? report->lines.at(0) : "error: " + report.error().message;
  };
  EXPECT_EQ(first_line("work create", {{"filename", manifests}, {"clusters", "c4"}}, "new"),
            "work new created for cluster c4 (dry run)");
  EXPECT_EQ(first_line("work create", {{"filename", manifests}, {"placement", "p"}}, "new"),
            "work new created for placement default/p (dry run)");
  EXPECT_EQ(first_line("work apply", {{"filename", manifests}, {"clusters", "c1"}}, "web"),
            "work web configured for cluster c1 (dry run)");
  EXPECT_EQ(first_line("work delete", {{"all-clusters", "true"}}, "web"), "work web is being deleted from cluster c1 (dry run)");
  EXPECT_TRUE(work("c1"));
}

TEST_F(WorkGuard, MovingASetToAnotherPlacementIsARemoval) {
  clusters(10);
  placement("old", {"c1", "c2", "c3"});
  placement("new", {"c4"});
  const std::string manifests = file(config_map("a"));
  ASSERT_TRUE(run("work create", {{"filename", manifests}, {"placement", "old"}}));
  expect_refused(run("work apply", {{"filename", manifests}, {"placement", "new"}}), "3 of 10 clusters");
  expect_refused(run("work delete", {{"placement", "old"}}), "3 of 10 clusters");
  EXPECT_TRUE(run("work apply", {{"filename", manifests}, {"placement", "new"}, {"allow-removals", "true"}}));
}

TEST_F(WorkGuard, ALargeFileBecomesSeveralWorks) {
  clusters(2);
  const std::string three = config_map("a", kHalf) + config_map("b", kHalf) + config_map("c", kHalf);
  const auto made = run("work create", {{"filename", file(three)}, {"clusters", "c1,c2"}});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->lines.size(), 6U);
  ASSERT_EQ(made->notes.size(), 1U);
  EXPECT_NE(made->notes[0].find("split into 3 works, web, web-part2, web-part3"), std::string::npos);
  EXPECT_EQ(objects_of(work("c2", "web-part3")), (std::vector<std::string>{"c"}));
  EXPECT_EQ(label_of(*work("c1"), "work.fleetadm.io/split-of"), "web");

  // The same again writes nothing, whatever the order of the file.
  const int before = hub_->write_count();
  const std::string turned = config_map("c", kHalf) + config_map("a", kHalf) + config_map("b", kHalf);
  ASSERT_TRUE(run("work apply", {{"filename", file(turned)}, {"clusters", "c1,c2"}}));
  EXPECT_EQ(hub_->write_count(), before);

  // What left the file leaves its part, the others stay where they are, and an empty part goes.
  const auto less =
      run("work apply", {{"filename", file(config_map("a", kHalf) + config_map("c", kHalf))}, {"clusters", "c1,c2"}});
  ASSERT_TRUE(less.has_value()) << less.error().message;
  EXPECT_EQ(objects_of(work("c1", "web-part3")), (std::vector<std::string>{"c"}));
  EXPECT_FALSE(work("c1", "web-part2"));

  // All parts are one work to the other commands.
  EXPECT_EQ(run("work status", {}, {"web"})->data["works"].size(), 4U);
  EXPECT_EQ(run("work get", {}, {"web"})->table->rows.size(), 4U);
  ASSERT_TRUE(run("work delete", {{"all-clusters", "true"}, {"allow-removals", "true"}}));
  EXPECT_FALSE(work("c1", "web-part3"));
  EXPECT_FALSE(work("c1"));
}

TEST_F(WorkGuard, AFileThatShrinksBelowTheLimitMovesNothing) {
  clusters(1);
  apply("c1", config_map("a", kHalf) + config_map("b", kHalf));
  apply("c1", config_map("a") + config_map("b"));
  EXPECT_EQ(objects_of(work("c1")), (std::vector<std::string>{"a"}));
  EXPECT_EQ(objects_of(work("c1", "web-part2")), (std::vector<std::string>{"b"}));
}

TEST(SplitManifests, AnObjectThatOutgrowsItsPartIsGivenToAnotherBeforeItLeaves) {
  const auto manifest = [](const std::string& name, std::size_t bytes) {
    return Json{
        {"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}}}, {"data", {{"v", std::string(bytes, 'x')}}}};
  };
  const std::map<std::string, std::string> placed{{"v1 ConfigMap a", "web"}, {"v1 ConfigMap b", "web"}};
  const auto parts = work::split_manifests("web", Json::array({manifest("a", 10), manifest("b", 900)}), placed, 1000);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_TRUE(parts[0].gives_away);
  EXPECT_EQ(parts[1].name, "web-part2");
  EXPECT_FALSE(parts[1].gives_away);
  EXPECT_EQ(name_of(parts[1].manifests[0]), "b");
  EXPECT_EQ(work::part_number("web", "web-part2"), 2U);
  EXPECT_EQ(work::part_number("web", "web-partner"), 0U);
  EXPECT_EQ(work::part_number("web", "website"), 0U);
}

}  // namespace
}  // namespace fleetadm::commands
