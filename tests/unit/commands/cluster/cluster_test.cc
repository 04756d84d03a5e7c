// cluster label, taint and deny: what kubectl's users expect of them.
#include "commands/cluster/cluster.h"

#include "tests/unit/commands/framework/fixture.h"

namespace fleetadm::commands {
namespace {

class ClusterCommands : public GuardedHub {
 protected:
  ClusterCommands() { register_cluster(registry); }
  Lines lines(const std::string& path, const Lines& args, const Flags& flags = {}) {
    const auto report = run(path, args, flags);
    if (!report) return {"error: " + report.error().message};
    Lines all = report->lines;
    for (const Error& failure : report->failures) all.push_back("failed: " + failure.cluster + ": " + failure.message);
    return all;
  }
  std::string taints(const std::string& name) const { return dump_json(list_at(cluster(name), {"spec", "taints"})); }
};

TEST_F(ClusterCommands, LabelsAreSetChangedAndRemoved) {
  EXPECT_EQ(lines("cluster label", {"c3", "env=prod"}), Lines{"managedcluster c3 labeled"});
  EXPECT_EQ(lines("cluster label", {"c3", "env=prod"}), Lines{"managedcluster c3 unchanged"});
  EXPECT_EQ(label_of(cluster("c3"), "env"), "prod");
  const auto refused = run("cluster label", {"c3", "env=dev"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().category, Category::kConflict);
  EXPECT_NE(refused.error().hint.find("--overwrite"), std::string::npos);
  EXPECT_EQ(lines("cluster label", {"c3", "env=dev"}, {{"overwrite", "true"}}), Lines{"managedcluster c3 labeled"});
  EXPECT_EQ(lines("cluster label", {"c3", "env-"}), Lines{"managedcluster c3 labeled"});
  EXPECT_EQ(lines("cluster label", {"c3", "env-"}), Lines{"managedcluster c3 unchanged"});
  EXPECT_EQ(label_of(cluster("c3"), "env"), "");
}

TEST_F(ClusterCommands, ClustersAreSelectedByNameLabelOrAll) {
  EXPECT_EQ(lines("cluster label", {"a=b"}, {{"selector", "cluster.open-cluster-management.io/clusterset=prod"}}),
            (Lines{"managedcluster c1 labeled", "managedcluster c2 labeled"}));
  EXPECT_EQ(lines("cluster label", {"b=c"}, {{"all", "true"}}).size(), 3U);
  EXPECT_EQ(run("cluster label", {"b=c"}, {{"selector", "no=body"}}).error().category, Category::kNotFound);
  EXPECT_EQ(run("cluster label", {"b=c"}).error().category, Category::kUsage);
  EXPECT_EQ(run("cluster label", {"c1", "b=c"}, {{"all", "true"}}).error().category, Category::kUsage);
  EXPECT_EQ(run("cluster label", {"c1"}).error().category, Category::kUsage);
  EXPECT_EQ(run("cluster label", {"c1", "b=c", "c2"}).error().category, Category::kUsage);
  EXPECT_EQ(run("cluster label", {"c1", "b c=d"}).error().category, Category::kUsage);
}

TEST_F(ClusterCommands, ANameThatDoesNotExistIsAFailureOfItsOwn) {
  const auto report = run("cluster label", {"c3", "c33", "env=prod"});
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->lines, Lines{"managedcluster c3 labeled"});
  ASSERT_EQ(report->failures.size(), 1U);
  EXPECT_EQ(report->failures[0].category, Category::kNotFound);
  EXPECT_EQ(report->failures[0].hint, "did you mean \"c3\"?");
}

TEST_F(ClusterCommands, TaintsAreAddedChangedAndRemoved) {
  EXPECT_EQ(lines("cluster taint", {"c3", "gpu=yes:NoSelect"}), Lines{"managedcluster c3 tainted"});
  EXPECT_EQ(lines("cluster taint", {"c3", "gpu=yes:NoSelect"}), Lines{"managedcluster c3 unchanged"});
  EXPECT_EQ(taints("c3"), R"([{"effect":"NoSelect","key":"gpu","value":"yes"}])");
  EXPECT_EQ(run("cluster taint", {"c3", "gpu=no:NoSelect"}).error().category, Category::kConflict);
  EXPECT_EQ(lines("cluster taint", {"c3", "gpu=no:NoSelect"}, {{"overwrite", "true"}}), Lines{"managedcluster c3 tainted"});
  EXPECT_EQ(lines("cluster taint", {"c3", "gpu:PreferNoSelect"}), Lines{"managedcluster c3 tainted"});
  EXPECT_EQ(lines("cluster taint", {"c3", "gpu:NoSelect-"}), Lines{"managedcluster c3 untainted"});
  EXPECT_EQ(taints("c3"), R"([{"effect":"PreferNoSelect","key":"gpu"}])");
  EXPECT_EQ(lines("cluster taint", {"c3", "gpu-"}), Lines{"managedcluster c3 untainted"});
  EXPECT_EQ(lines("cluster taint", {"c3", "gpu-"}), Lines{"managedcluster c3 unchanged"});
  for (const char* word : {"gpu:NoSchedule", "gpu=yes", ":NoSelect", "gpu:-"})
    EXPECT_EQ(run("cluster taint", {"c3", word}).error().category, Category::kUsage) << word;
  EXPECT_EQ(run("cluster taint", {"c3", "a:NoSelect", "a-"}).error().category, Category::kUsage);
}

TEST_F(ClusterCommands, UnlabelTakesKeysBehindTheClusters) {
  lines("cluster label", {"c1", "c3", "env=prod", "tier=a"});
  EXPECT_EQ(lines("cluster unlabel", {"c1,c3", "env", "tier-"}),
            (Lines{"managedcluster c1 unlabeled", "managedcluster c3 unlabeled"}));
  EXPECT_EQ(label_of(cluster("c3"), "env") + label_of(cluster("c1"), "tier"), "");
  EXPECT_EQ(lines("cluster unlabel", {"env"}, {{"all", "true"}}).size(), 3U) << "all arguments are keys";
  EXPECT_EQ(run("cluster unlabel", {"c1"}).error().category, Category::kUsage);
  EXPECT_EQ(run("cluster unlabel", {"c1", "a=b"}).error().category, Category::kUsage);
  EXPECT_EQ(run("cluster unlabel", {"c9", "env"}).error().category, Category::kNotFound);
}

TEST_F(ClusterCommands, AnnotationsAreSetChangedAndRemoved) {
  const std::string text = "Team Blue, floor 2";
  EXPECT_EQ(lines("cluster annotate", {"c3", "example.com/owner=" + text}), Lines{"managedcluster c3 annotated"});
  EXPECT_EQ(annotation_of(cluster("c3"), "example.com/owner"), text);
  EXPECT_EQ(lines("cluster annotate", {"c3", "example.com/owner=" + text}), Lines{"managedcluster c3 unchanged"});
  EXPECT_EQ(run("cluster annotate", {"c3", "example.com/owner=x"}).error().category, Category::kConflict);
  EXPECT_EQ(lines("cluster annotate", {"c3", "example.com/owner-"}), Lines{"managedcluster c3 annotated"});
  EXPECT_EQ(annotation_of(cluster("c3"), "example.com/owner"), "");
  EXPECT_EQ(run("cluster annotate", {"c3", "bad key=x"}).error().category, Category::kUsage);
}

TEST_F(ClusterCommands, UntaintRemovesOneEffectOrAll) {
  lines("cluster taint", {"c3", "gpu:NoSelect", "gpu:PreferNoSelect", "ssd:NoSelect"});
  EXPECT_EQ(lines("cluster untaint", {"c3", "gpu:NoSelect"}), Lines{"managedcluster c3 untainted"});
  EXPECT_EQ(taints("c3"), R"([{"effect":"PreferNoSelect","key":"gpu"},{"effect":"NoSelect","key":"ssd"}])");
  EXPECT_EQ(lines("cluster untaint", {"c3", "gpu", "ssd-"}), Lines{"managedcluster c3 untainted"});
  EXPECT_EQ(taints("c3"), "[]");
  EXPECT_EQ(lines("cluster untaint", {"c3", "gpu"}), Lines{"managedcluster c3 unchanged"});
  EXPECT_EQ(run("cluster untaint", {"c3"}).error().category, Category::kUsage);
}

TEST_F(ClusterCommands, CordonKeepsWorksAndDrainMovesThem) {
  const std::string cordoned = R"([{"effect":"NoSelectIfNew","key":"fleetadm.io/unschedulable"}])";
  const std::string drained = R"([{"effect":"NoSelect","key":"fleetadm.io/unschedulable"}])";
  EXPECT_EQ(lines("cluster cordon", {"c1"}), Lines{"managedcluster c1 cordoned"}) << "nothing is asked: nothing is lost";
  EXPECT_EQ(taints("c1"), cordoned);
  EXPECT_EQ(lines("cluster cordon", {"c1"}), Lines{"managedcluster c1 unchanged"});
  api->erase(api::manifest_works(), "c1", "web-12345");  // as the hub does once the placement has left the cluster
  EXPECT_EQ(lines("cluster drain", {"c1"}, {{"allow-removals", "true"}}), Lines{"managedcluster c1 drained"});
  EXPECT_EQ(taints("c1"), drained);
  EXPECT_EQ(lines("cluster cordon", {"c1"}), Lines{"managedcluster c1 unchanged"}) << "a drained cluster is cordoned";
  EXPECT_EQ(taints("c1"), drained);
  EXPECT_EQ(lines("cluster drain", {"c1"}, {{"allow-removals", "true"}}), Lines{"managedcluster c1 unchanged"});
  EXPECT_EQ(lines("cluster uncordon", {"c1"}), Lines{"managedcluster c1 uncordoned"});
  EXPECT_EQ(taints("c1"), "[]");
}

TEST_F(ClusterCommands, ADrainThatDoesNotEndNamesWhatIsLeft) {
  const auto report = run("cluster drain", {"c1"}, {{"allow-removals", "true"}, {"timeout", "10ms"}});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->lines, Lines{"managedcluster c1 drained"});
  ASSERT_EQ(report->failures.size(), 1U);
  EXPECT_EQ(report->failures[0].category, Category::kTimeout);
  EXPECT_EQ(report->failures[0].cluster, "c1");
  EXPECT_NE(report->failures[0].message.find("still has apps/web"), std::string::npos) << report->failures[0].message;
}

TEST_F(ClusterCommands, ADrainIsPlannedWithoutWriting) {
  const auto plan = run("cluster drain", {"c1"}, {{"plan", "true"}});
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_EQ(str(plan->data, {"kind"}), "RemovalPlan");
  EXPECT_EQ(list_at(plan->data, {"losses"}).size(), 1U) << dump_json(plan->data);
  EXPECT_EQ(writes(), 0);
}

TEST_F(ClusterCommands, DenyIsTakenBackByAccept) {
  const auto denied = run("cluster deny", {"c3"});
  ASSERT_TRUE(denied.has_value()) << denied.error().message;
  EXPECT_EQ(denied->lines, Lines{"managedcluster c3 denied"});
  EXPECT_EQ(denied->notes, Lines{"to accept it again: fleetadm accept c3"});
  EXPECT_FALSE(flag(cluster("c3"), {"spec", "hubAcceptsClient"}));
  EXPECT_EQ(lines("cluster deny", {"c3"}), Lines{"managedcluster c3 unchanged"});
}

TEST_F(ClusterCommands, ADryRunWritesNothing) {
  auto gate = std::make_shared<kube::WriteGate>();
  gate->dry_run = kube::DryRun::kClient;
  testkit::FakeContext dry(api->client(gate), clock);
  const auto report = testkit::run_command(registry, "cluster label", dry, {}, {"c3", "env=prod"});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->lines, Lines{"managedcluster c3 labeled (dry run)"});
  EXPECT_EQ(label_of(cluster("c3"), "env"), "");
  EXPECT_EQ(writes(), 0);
}

}  // namespace
}  // namespace fleetadm::commands
