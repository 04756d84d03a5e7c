// Works with upstream's programs: two clusters that differ only in their agents are given the same works, and report the same;
// one rollout over both, driven by upstream's hub and then by ours.
#include <gtest/gtest.h>
#include <map>
#include <string>

#include "kubeclient/base/yaml.h"
#include "tests/interop/work_lab.h"
#include "tests/interop/work_scenarios.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kSets = "/apis/work.open-cluster-management.io/v1alpha1/namespaces/apps/manifestworkreplicasets";

std::string works_of(const std::string& cluster) {
  return "/apis/work.open-cluster-management.io/v1/namespaces/" + cluster + "/manifestworks";
}

class WorkInterop : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs() || !peers_folder()) return;
    auto started = WorkLab::start();
    ASSERT_TRUE(started) << started.error().message;
    lab() = std::move(*started);
  }
  static void TearDownTestSuite() { lab().reset(); }
  void SetUp() override {
    FLEETADM_NEEDS_KUBE_SERVERS();
    if (!peers_folder()) GTEST_SKIP() << "FLEETADM_PEERS names no folder with upstream's programs";
    if (!lab()) GTEST_FAIL() << "the clusters did not start";
  }
  void TearDown() override {
    if (HasFailure() && lab()) GTEST_LOG_(INFO) << lab()->logs();
  }
  static std::unique_ptr<WorkLab>& lab() {
    static std::unique_ptr<WorkLab> the_lab;
    return the_lab;
  }

  static Json spec_of(const std::string& yaml) {
    const auto spec = parse_yaml(yaml);
    EXPECT_TRUE(spec) << spec.error().message << yaml;
    return spec ? *spec : Json();
  }
  /// Both agents are done with a work and say the same, `told` among it.
  static void expect_the_same(const std::string& work, const std::string& told, const std::string& when) {
    std::string ours;
    std::string theirs;
    const auto same = [&] {
      ours = lab()->report("c1", work);
      theirs = lab()->report("c2", work);
      return !ours.empty() && ours == theirs && theirs.find(told) != std::string::npos;
    };
    if (eventually(same, seconds(30), milliseconds(300))) return;
    EXPECT_EQ(ours, theirs) << work << ", " << when;
    EXPECT_NE(theirs.find(told), std::string::npos) << work << ", " << when << ", is not settled: " << theirs;
  }
  static void expect_the_same_objects(const std::string& when) {
    if (eventually([&] { return lab()->objects("c1") == lab()->objects("c2"); }, seconds(30), milliseconds(300))) return;
    EXPECT_EQ(lab()->objects("c1"), lab()->objects("c2")) << when;
  }
  static void both(std::string_view method, const std::string& work, const Json& body) {
    for (const std::string& cluster : WorkLab::kClusters) {
      const bool create = method == "POST";
      const auto answer = lab()->hub().request(method, works_of(cluster) + (create ? "" : "/" + work), dump_json(body),
                                               method == "PATCH" ? "application/json-patch+json" : "application/json");
      ASSERT_TRUE(answer.status >= 200 && answer.status < 300) << work << ": " << answer.body;
    }
  }

  static Json rolled_out(const std::string& name, const std::string& value) {
    const Json map{{"apiVersion", "v1"},
                   {"kind", "ConfigMap"},
                   {"metadata", {{"name", name}, {"namespace", "lab"}}},
                   {"data", {{"v", value}}}};
    // Upstream's hub takes a rollout further only where a rule says when its objects are progressing.
    const Json rule{{"condition", "Progressing"}, {"type", "CEL"}, {"celExpressions", {"!has(object.data.v)"}}};
    const Json config{{"resourceIdentifier", {{"resource", "configmaps"}, {"namespace", "lab"}, {"name", name}}},
                      {"conditionRules", Json::array({rule})}};
    return {{"workload", {{"manifests", Json::array({map})}}}, {"manifestConfigs", Json::array({config})}};
  }
  static void create_set(const std::string& name, const std::string& value) {
    const Json strategy{{"type", "Progressive"}, {"progressive", {{"maxConcurrency", 1}}}};
    const Json set{{"apiVersion", "work.open-cluster-management.io/v1alpha1"},
                   {"kind", "ManifestWorkReplicaSet"},
                   {"metadata", {{"name", name}, {"namespace", "apps"}}},
                   {"spec",
                    {{"placementRefs", Json::array({{{"name", "both"}, {"rolloutStrategy", strategy}}})},
                     {"manifestWorkTemplate", rolled_out(name, value)}}}};
    const auto answer = lab()->hub().create(kSets, set);
    ASSERT_EQ(answer.status, 201) << answer.body;
  }
  static void change_set(const std::string& name, const std::string& value) {
    const Json patch{{"spec", {{"manifestWorkTemplate", rolled_out(name, value)}}}};
    const auto answer =
        lab()->hub().request("PATCH", std::string(kSets) + "/" + name, dump_json(patch), "application/merge-patch+json");
    ASSERT_EQ(answer.status, 200) << answer.body;
  }
  /// Name and uid of a set's work in each cluster; several where there are several.
  static std::vector<std::string> works_of_set(const std::string& name) {
    std::vector<std::string> works;
    for (const std::string& cluster : WorkLab::kClusters) {
      const Json list = lab()->hub().get(
          works_of(cluster) + "?labelSelector=work.open-cluster-management.io%2Fmanifestworkreplicaset%3Dapps." + name);
      for (const Json& work : list_at(list, {"items"})) works.push_back(cluster + "/" + name_of(work) + " " + uid_of(work));
    }
    return works;
  }
  static void expect_on_both(const std::string& name, const std::string& value) {
    const auto there = [&](const std::string& cluster) {
      return str(lab()->spoke(cluster).get("/api/v1/namespaces/lab/configmaps/" + name), {"data", "v"}) == value;
    };
    for (const std::string& cluster : WorkLab::kClusters) {
      EXPECT_TRUE(eventually([&] { return there(cluster); }, seconds(60))) << cluster << " has not " << name << " " << value;
    }
    EXPECT_TRUE(condition_becomes(lab()->hub(), std::string(kSets) + "/" + name, "PlacementRolledOut", "True"));
    EXPECT_TRUE(condition_becomes(lab()->hub(), std::string(kSets) + "/" + name, "ManifestworkApplied", "True"));
    // The works of a set have names of their own on each cluster: what is reported of them is not named by them.
    std::vector<std::string> reports;
    const auto same = [&] {
      reports.clear();
      for (const std::string& work : works_of_set(name)) {
        const std::string at = work.substr(0, work.find(' '));
        reports.push_back(lab()->report(at.substr(0, 2), at.substr(3)));
      }
      return reports.size() == 2 && !reports[0].empty() && reports[0] == reports[1];
    };
    EXPECT_TRUE(eventually(same)) << ::testing::PrintToString(reports);
  }
};

TEST_F(WorkInterop, A_TheSameWorksEndTheSameUnderBothAgents) {
  for (const WorkScenario& one : work_scenarios()) {
    const Json work{{"apiVersion", "work.open-cluster-management.io/v1"},
                    {"kind", "ManifestWork"},
                    {"metadata", {{"name", one.name}}},
                    {"spec", spec_of(one.spec)}};
    both("POST", one.name, work);
  }
  for (const WorkScenario& one : work_scenarios()) expect_the_same(one.name, one.told, "made");
  expect_the_same_objects("made");

  for (const WorkScenario& one : work_scenarios()) {
    if (one.changed.empty()) continue;
    both("PATCH", one.name, Json::array({{{"op", "replace"}, {"path", "/spec"}, {"value", spec_of(one.changed)}}}));
  }
  for (const WorkScenario& one : work_scenarios()) {
    if (!one.changed.empty()) expect_the_same(one.name, one.told_then, "changed");
  }
  expect_the_same_objects("changed");

  for (const WorkScenario& one : work_scenarios()) both("DELETE", one.name, Json::object());
  for (const std::string& cluster : WorkLab::kClusters) {
    const auto gone = [&] { return list_at(lab()->hub().get(works_of(cluster)), {"items"}).empty(); };
    EXPECT_TRUE(eventually(gone, seconds(60))) << cluster;
  }
  expect_the_same_objects("deleted");
}

TEST_F(WorkInterop, B_UpstreamsHubRollsOutOverBothAgents) {
  create_set("theirs", "1");
  expect_on_both("theirs", "1");
  change_set("theirs", "2");
  expect_on_both("theirs", "2");
}

TEST_F(WorkInterop, C_OurHubTakesOverAndRollsOutOverBothAgents) {
  const std::vector<std::string> before = works_of_set("theirs");
  const Status changed = lab()->change_hub();
  ASSERT_TRUE(changed) << changed.error().message;
  create_set("ours", "1");
  expect_on_both("ours", "1");
  change_set("ours", "2");
  const auto rollout = [](std::vector<std::string> args) {
    args.insert(args.begin(), "rollout");
    args.insert(args.end(), {"-n", "apps", "--context", "hub"});
    return lab()->run(args);
  };
  Ran ran = rollout({"status", "ours", "-w", "--timeout", "60s"});
  EXPECT_EQ(ran.code, 0) << ran.both();
  expect_on_both("ours", "2");
  ran = rollout({"undo", "ours"});
  EXPECT_EQ(ran.code, 0) << ran.both();
  expect_on_both("ours", "1");
  // What the other hub had rolled out stays as it was, and goes on from there.
  EXPECT_EQ(works_of_set("theirs"), before);
  change_set("theirs", "3");
  expect_on_both("theirs", "3");
  EXPECT_EQ(works_of_set("theirs"), before);
}

/// No controller looks at these Deployments: they are never ready.
TEST_F(WorkInterop, D_ReadinessIsWaitedForWhereItIsReported) {
  const Json work = spec_of(R"(
workload:
  manifests:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: unready, namespace: lab}
    spec:
      paused: true
      replicas: 1
      selector: {matchLabels: {app: unready}}
      template:
        metadata: {labels: {app: unready}}
        spec: {containers: [{name: web, image: "example.com/none:1"}]}
)");
  const Json set{
      {"apiVersion", "work.open-cluster-management.io/v1alpha1"},
      {"kind", "ManifestWorkReplicaSet"},
      {"metadata", {{"name", "unready"}, {"namespace", "apps"}, {"annotations", {{"work.fleetadm.io/success-when", "ready"}}}}},
      {"spec", {{"placementRefs", Json::array({{{"name", "both"}}})}, {"manifestWorkTemplate", work}}}};
  ASSERT_EQ(lab()->hub().create(kSets, set).status, 201);
  Json told;
  std::map<std::string, std::string> phases;
  const auto judged = [&] {
    told = lab()->run({"rollout", "status", "unready", "-n", "apps", "--context", "hub", "-o", "json"}).json();
    for (const Json& one : list_at(told, {"clusters"})) phases[str(one, {"cluster"})] = str(one, {"phase"});
    // c1 has our agent, c2 has upstream's.
    return phases["c2"] == "Done" && str(told, {"blocking"}).find("Deployment lab/unready") != std::string::npos;
  };
  EXPECT_TRUE(eventually(judged, seconds(60))) << told.dump(1);
  EXPECT_NE(phases["c1"], "Done");
  const Ran ran = lab()->run({"rollout", "status", "unready", "-n", "apps", "--context", "hub"});
  EXPECT_NE(ran.both().find("Readiness is unknown on c2"), std::string::npos) << ran.both();
  EXPECT_EQ(lab()->hub().request("DELETE", std::string(kSets) + "/unready", "", "").status, 200);
}

}  // namespace
}  // namespace fleetadm::testkit
