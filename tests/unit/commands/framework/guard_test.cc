// One guard for every command that takes works away through placements.
#include "commands/framework/guard.h"

#include "commands/cluster/cluster.h"
#include "commands/clusterset/clusterset.h"
#include "commands/fleet/fleet.h"
#include "commands/placement/placement.h"
#include "tests/unit/commands/framework/fixture.h"

namespace fleetadm::commands {
namespace {

struct GuardCase {
  const char* name;
  const char* path;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> flags;
  const char* loss;
};

void PrintTo(const GuardCase& one, std::ostream* out) { *out << one.name; }

class EveryGuardedCommand : public GuardedHub, public testing::WithParamInterface<GuardCase> {
 protected:
  EveryGuardedCommand() {
    register_cluster(registry);
    register_clusterset(registry);
    register_placement(registry);
    register_fleet(registry);
  }
  Result<Report> run_with(const Flags& more) {
    Flags flags = GetParam().flags;
    flags.insert(flags.end(), more.begin(), more.end());
    return run(GetParam().path, GetParam().args, flags);
  }
};

TEST_P(EveryGuardedCommand, IsRefusedInAScriptAlsoWithYes) {
  expect_refused(run_with({}), GetParam().loss);
  expect_refused(run_with({{"yes", "true"}}), GetParam().loss);
}

TEST_P(EveryGuardedCommand, AsksAtATerminal) {
  context.screen.terminal = true;
  context.screen.answer = false;
  const auto declined = run_with({});
  ASSERT_FALSE(declined.has_value());
  EXPECT_EQ(declined.error().category, Category::kCancelled);
  ASSERT_EQ(context.screen.asked.size(), 1U);
  EXPECT_NE(context.screen.asked[0].find(GetParam().loss), std::string::npos) << context.screen.asked[0];
  EXPECT_EQ(writes(), 0);
}

TEST_P(EveryGuardedCommand, PlanShowsTheLossAndWritesNothing) {
  const auto plan = run_with({{"plan", "true"}});
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_EQ(str(plan->data, {"kind"}), "RemovalPlan");
  ASSERT_TRUE(plan->table.has_value());
  EXPECT_EQ(plan->table->rows.size(), list_at(plan->data, {"losses"}).size());
  EXPECT_FALSE(plan->table->rows.empty());
  EXPECT_NE(plan->notes.back().find(GetParam().loss), std::string::npos) << plan->notes.back();
  EXPECT_EQ(writes(), 0);
}

TEST_P(EveryGuardedCommand, IsAllowedByItsFlag) {
  const auto done = run_with({{"allow-removals", "true"}});
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_GT(writes(), 0);
  EXPECT_TRUE(context.screen.asked.empty());
}

TEST_P(EveryGuardedCommand, WhatCannotBeReadIsRefused) {
  api->fail_next("list", "manifestworkreplicasets", 403, "Forbidden");
  const auto refused = run_with({});
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("cannot compute which works"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().hint.find("--allow-removals"), std::string::npos) << refused.error().hint;
  EXPECT_EQ(writes(), 0);
}

const GuardCase kCases[] = {
    {"unbind", "clusterset unbind", {"prod"}, {}, "2 of 3 clusters (c1, c2) would lose 1 work (apps/web)"},
    {"take_out_of_the_set",
     "clusterset set",
     {"prod"},
     {{"remove-clusters", "c2"}},
     "1 of 3 clusters (c2) would lose 1 work (apps/web)"},
    {"move_to_another_set",
     "clusterset set",
     {"default"},
     {{"clusters", "c1"}},
     "1 of 3 clusters (c1) would lose 1 work (apps/web)"},
    {"placement_of_one",
     "placement apply",
     {"web"},
     {{"cluster-count", "1"}},
     "1 of 3 clusters (c2) would lose 1 work (apps/web)"},
    {"delete_placement",
     "placement delete",
     {"web"},
     {},
     "2 of 3 clusters (c1, c2) would keep 1 work (apps/web) that no placement"},
    {"label",
     "cluster label",
     {"c1", "cluster.open-cluster-management.io/clusterset=default"},
     {{"overwrite", "true"}},
     "1 of 3 clusters (c1) would lose 1 work (apps/web)"},
    {"unlabel",
     "cluster label",
     {"c1", "c2", "cluster.open-cluster-management.io/clusterset-"},
     {},
     "2 of 3 clusters (c1, c2) would lose 1 work (apps/web)"},
    {"unlabel_all",
     "cluster unlabel",
     {"c1,c2", "cluster.open-cluster-management.io/clusterset"},
     {},
     "2 of 3 clusters (c1, c2) would lose 1 work (apps/web)"},
    {"taint", "cluster taint", {"c1", "maintenance:NoSelect"}, {}, "1 of 3 clusters (c1) would lose 1 work (apps/web)"},
    {"drain", "cluster drain", {"c1"}, {{"timeout", "10ms"}}, "1 of 3 clusters (c1) would lose 1 work (apps/web)"},
    {"deny", "cluster deny", {"c2"}, {}, "1 of 3 clusters (c2) would lose 1 work (apps/web)"},
    {"reject", "reject", {"c2"}, {}, "1 of 3 clusters (c2) would lose 1 work (apps/web)"},
    {"unjoin", "unjoin", {}, {{"hub-only", "true"}, {"cluster-name", "c1"}}, "1 of 3 clusters (c1) would lose 1 work (apps/web)"},
};

INSTANTIATE_TEST_SUITE_P(Commands, EveryGuardedCommand, testing::ValuesIn(kCases),
                         [](const auto& one) { return one.param.name; });

class Guard : public GuardedHub {
 protected:
  Guard() {
    register_clusterset(registry);
    register_placement(registry);
    register_cluster(registry);
  }
};

TEST_F(Guard, NothingIsAskedWhereNothingIsLost) {
  EXPECT_TRUE(run("cluster label", {"c1", "team=a"}));
  EXPECT_TRUE(run("cluster taint", {"c3", "maintenance:NoSelect"})) << "no placement selects c3";
  EXPECT_TRUE(run("cluster taint", {"c1", "later:NoSelectIfNew"})) << "it stays where it is";
  EXPECT_TRUE(run("placement apply", {"web"}, {{"cluster-count", "2"}}));
  api->erase(api::manifest_work_replica_sets(), "apps", "web");
  EXPECT_TRUE(run("clusterset unbind", {"prod"}));
  EXPECT_TRUE(context.screen.asked.empty());
}

TEST_F(Guard, YesAnswersAtATerminal) {
  context.screen.terminal = true;
  context.screen.answer = false;
  EXPECT_TRUE(run("clusterset unbind", {"prod"}, {{"yes", "true"}}));
  EXPECT_TRUE(context.screen.asked.empty());
  EXPECT_FALSE(api->get(api::managed_cluster_set_bindings(), "apps", "prod"));
}

TEST_F(Guard, ADryRunSaysWhatItWouldNeed) {
  auto gate = std::make_shared<kube::WriteGate>();
  gate->dry_run = kube::DryRun::kClient;
  testkit::FakeContext dry(api->client(gate), clock);
  dry.globals.config.ns = "apps";
  const auto report = testkit::run_command(registry, "clusterset unbind", dry, {}, {"prod"});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->lines, Lines{"managedclusterset prod unbound from namespace apps (dry run)"});
  ASSERT_EQ(report->notes.size(), 1U);
  EXPECT_NE(report->notes[0].find("2 of 3 clusters (c1, c2) would lose 1 work"), std::string::npos);
  EXPECT_NE(report->notes[0].find("--allow-removals"), std::string::npos);
}

TEST_F(Guard, ScoresThatMayNotBeReadMatterWhereTheyDecide) {
  api->fail_next("list", "addonplacementscores", 403, "Forbidden");
  EXPECT_TRUE(run("clusterset unbind", {"prod"}, {{"plan", "true"}})) << "every cluster that fits is selected";
  api->fail_next("list", "addonplacementscores", 403, "Forbidden");
  const auto refused = run("placement apply", {"web"}, {{"cluster-count", "1"}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("cannot compute"), std::string::npos) << refused.error().message;
}

TEST_F(Guard, ThePlanIsData) {
  const auto plan = run("clusterset unbind", {"prod"}, {{"plan", "true"}});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(num(plan->data, {"clusters"}), 3);
  const Json& loss = list_at(plan->data, {"losses"}).at(0);
  EXPECT_EQ(dump_json(loss), R"({"cluster":"c1","effect":"removed","set":"apps/web","work":"web-12345"})");
  const Json& placement = list_at(plan->data, {"placements"}).at(0);
  EXPECT_EQ(dump_json(placement), R"({"added":[],"name":"web","namespace":"apps","removed":["c1","c2"]})");
}

}  // namespace
}  // namespace fleetadm::commands
