// The guard on a real hub with its controllers: what a command says that clusters would lose is what they lose.
#include <gtest/gtest.h>

#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kWorksOfAll = "/apis/work.open-cluster-management.io/v1/manifestworks";
constexpr std::string_view kDecisions = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/apps/placementdecisions";
constexpr std::string_view kPage = R"(apiVersion: v1
kind: ConfigMap
metadata: {name: page, namespace: default}
data: {index.html: hello}
)";

class Guard : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(0, false));
    must({"init", "--context", "hub"});
    ASSERT_NO_FATAL_FAILURE(start_controllers());
    ASSERT_LT(fleet()->hub().create("/api/v1/namespaces", {{"metadata", {{"name", "apps"}}}}).status, 300);
    must({"clusterset", "create", "prod", "--context", "hub"});
    for (const char* name : {"c1", "c2", "c3"}) {
      const Json cluster{{"apiVersion", "cluster.open-cluster-management.io/v1"},
                         {"kind", "ManagedCluster"},
                         {"metadata", {{"name", name}}},
                         {"spec", {{"hubAcceptsClient", true}}}};
      ASSERT_LT(fleet()->hub().create(kManagedClusters, cluster).status, 300) << name;
    }
    must({"clusterset", "set", "prod", "--clusters", "c1,c2", "--context", "hub"});
  }
  static void must(const std::vector<std::string>& args) {
    const Ran ran = run(args);
    ASSERT_EQ(ran.code, 0) << ran.both();
  }
  /// The set is bound, the placement selects c1 and c2 (no agent runs: whatever taints they get are tolerated), and both have
  /// the work.
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(FleetTest::SetUp());
    must(on_hub({"clusterset", "bind", "prod"}));
    must(on_hub({"placement", "create", "web", "--toleration", "*"}));
    const std::string file = fleet()->folder().write("page.yaml", kPage);
    must(on_hub({"work", "apply", "page", "-f", file, "--placement", "apps/web"}));
    ASSERT_TRUE(clusters_become({"c1", "c2"}));
  }
  static std::vector<std::string> on_hub(std::vector<std::string> args) {
    args.insert(args.end(), {"-n", "apps", "--context", "hub"});
    return args;
  }
  static std::set<std::string> clusters() {
    std::set<std::string> names;
    const Json works = fleet()->hub().get(kWorksOfAll);
    for (const Json& work : list_at(works, {"items"})) names.insert(namespace_of(work));
    return names;
  }
  static bool clusters_become(const std::set<std::string>& names) {
    return eventually([&] { return clusters() == names; });
  }
  static bool decisions_become(std::size_t count) {
    return fleet()->hub().eventually(kDecisions, [&](const Json& list) {
      std::size_t all = 0;
      for (const Json& one : list_at(list, {"items"})) all += list_at(one, {"status", "decisions"}).size();
      return all == count;
    });
  }
};

TEST_F(Guard, AnUnbindThatTakesAWorkFromTwoClustersIsRefusedThenDone) {
  const auto from = fleet()->hub().audit_position();
  const Ran refused = run(on_hub({"clusterset", "unbind", "prod", "--yes"}));
  EXPECT_EQ(refused.code, 1) << refused.both();
  EXPECT_NE(refused.err.find("2 of 3 clusters (c1, c2) would lose 1 work (apps/page)"), std::string::npos) << refused.both();
  EXPECT_NE(refused.err.find("--allow-removals"), std::string::npos) << refused.both();
  const Ran plan = run(on_hub({"clusterset", "unbind", "prod", "--plan", "-o", "json"}));
  ASSERT_EQ(plan.code, 0) << plan.both();
  EXPECT_EQ(str(plan.json(), {"kind"}), "RemovalPlan");
  EXPECT_EQ(list_at(plan.json(), {"losses"}).size(), 2U) << plan.out;
  for (const AuditEntry& write : writes_since(fleet()->hub(), from)) EXPECT_NE(write.verb, "delete") << write.uri;
  EXPECT_EQ(clusters(), (std::set<std::string>{"c1", "c2"}));

  must(on_hub({"clusterset", "unbind", "prod", "--allow-removals"}));
  EXPECT_TRUE(clusters_become({}));
}

TEST_F(Guard, WhatEachCommandForetellsComesTrue) {
  struct Step {
    std::vector<std::string> args;
    std::string foretold;
    std::set<std::string> left;
  };
  const std::vector<Step> steps{
      {{"placement", "apply", "web", "-k", "1", "--toleration", "*"}, "1 of 3 clusters", {}},
      {{"clusterset", "set", "prod", "--remove-clusters", "c1"}, "1 of 3 clusters (c1)", {"c2"}},
      {{"cluster", "label", "c2", "cluster.open-cluster-management.io/clusterset-"}, "1 of 3 clusters (c2)", {"c1"}},
  };
  for (const Step& step : steps) {
    const Ran refused = run(on_hub(step.args));
    EXPECT_EQ(refused.code, 1) << refused.both();
    EXPECT_NE(refused.err.find(step.foretold), std::string::npos) << refused.both();
    EXPECT_EQ(clusters(), (std::set<std::string>{"c1", "c2"}));
    std::vector<std::string> allowed = step.args;
    allowed.emplace_back("--allow-removals");
    must(on_hub(allowed));
    if (step.left.empty()) {
      EXPECT_TRUE(eventually([] { return clusters().size() == 1; })) << dump_json(fleet()->hub().get(kWorksOfAll));
    } else {
      EXPECT_TRUE(clusters_become(step.left)) << dump_json(fleet()->hub().get(kWorksOfAll));
    }
    must(on_hub({"placement", "apply", "web", "--toleration", "*"}));
    must({"clusterset", "set", "prod", "--clusters", "c1,c2", "--context", "hub"});
    ASSERT_TRUE(clusters_become({"c1", "c2"}));
  }
}

TEST_F(Guard, ADeletedPlacementLeavesItsWorksBehind) {
  const Ran refused = run(on_hub({"placement", "delete", "web"}));
  EXPECT_EQ(refused.code, 1) << refused.both();
  EXPECT_NE(refused.err.find("2 of 3 clusters (c1, c2) would keep 1 work (apps/page)"), std::string::npos) << refused.both();
  must(on_hub({"placement", "delete", "web", "--allow-removals"}));
  EXPECT_TRUE(decisions_become(0));
  EXPECT_EQ(clusters(), (std::set<std::string>{"c1", "c2"})) << "the set does nothing without its placement";
  // Back with less, it takes the work from whoever it does not select.
  const Ran back = run(on_hub({"placement", "create", "web", "--toleration", "*", "-k", "0"}));
  EXPECT_EQ(back.code, 1) << back.both();
  EXPECT_NE(back.err.find("2 of 3 clusters (c1, c2) would lose 1 work"), std::string::npos) << back.both();
}

}  // namespace
}  // namespace fleetadm::testkit
