// cluster claim set, delete and list: on the cluster itself.
#include "commands/cluster/cluster.h"
#include "tests/unit/commands/framework/fixture.h"

namespace fleetadm::commands {
namespace {

class ClaimTest : public GuardedHub {
 protected:
  ClaimTest() { register_cluster(registry); }
  std::string value(const std::string& name) const {
    return str(api->get(api::cluster_claims(), "", name).value_or(Json()), {"spec", "value"});
  }
};

TEST_F(ClaimTest, AreMadeChangedAndLeftAsTheyAre) {
  EXPECT_EQ(run("cluster claim set", {"region.example.com=eu", "tier=gold"})->lines,
            (Lines{"clusterclaim region.example.com created", "clusterclaim tier created"}));
  Json labeled = *api->get(api::cluster_claims(), "", "tier");
  labeled["metadata"]["labels"] = {{"keep", "me"}};
  api->put(api::cluster_claims(), labeled);
  EXPECT_EQ(run("cluster claim set", {"region.example.com=eu", "tier=silver=1"})->lines,
            (Lines{"clusterclaim region.example.com unchanged", "clusterclaim tier configured"}));
  EXPECT_EQ(value("tier"), "silver=1");
  EXPECT_EQ(label_of(*api->get(api::cluster_claims(), "", "tier"), "keep"), "me");
}

TEST_F(ClaimTest, WhatTheHubWouldRefuseIsRefusedHere) {
  for (const std::string& word : {std::string("tier"), std::string("tier="), std::string("Tier=a"), std::string("=a"),
                                  "tier=" + std::string(1025, 'x'), std::string("agentversion.fleetadm.io=v9")}) {
    const auto report = run("cluster claim set", {word});
    ASSERT_FALSE(report) << word;
    EXPECT_EQ(report.error().category, Category::kUsage) << word;
  }
  EXPECT_EQ(run("cluster claim set", {"a=1", "a=2"}).error().category, Category::kUsage);
  EXPECT_EQ(writes(), 0);
  std::string umlauts;
  for (int i = 0; i < 1024; ++i) umlauts += "ü";
  EXPECT_TRUE(run("cluster claim set", {"a=" + umlauts})) << "characters count, not bytes";
}

TEST_F(ClaimTest, AreListedAndDeleted) {
  run("cluster claim set", {"region=eu", "tier=gold"});
  const auto list = run("cluster claim list", {});
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->table->rows.size(), 2U);
  EXPECT_EQ(list->table->rows[0][1], "eu");
  EXPECT_EQ(run("cluster claim delete", {"tier"})->lines, Lines{"clusterclaim tier deleted"});
  EXPECT_FALSE(api->get(api::cluster_claims(), "", "tier"));
  const auto again = run("cluster claim delete", {"regio"});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->lines, Lines{"clusterclaim regio not found (nothing to delete)"});
  ASSERT_EQ(again->notes.size(), 1U);
  EXPECT_NE(again->notes[0].find("\"region\""), std::string::npos);
}

TEST_F(ClaimTest, OneThatCannotBeWrittenDoesNotHideTheOthers) {
  api->fail_next("create", "clusterclaims", 403, "Forbidden");
  const auto report = run("cluster claim set", {"a=1", "b=2"});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->failures.size(), 1U);
  EXPECT_EQ(report->lines, Lines{"clusterclaim b created"});
}

}  // namespace
}  // namespace fleetadm::commands
