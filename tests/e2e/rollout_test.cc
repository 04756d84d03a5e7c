// Rollouts on a real hub with five clusters whose agents are played by the test: canary then the rest, a failing cluster stops
// it, a pause holds, and undo returns. The audit log tells whether limits were kept.
#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

#include "core/api/kinds.h"
#include "core/work/conditions.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/rest/client.h"
#include "tests/support/fleet.h"

namespace fleetadm::testkit {
namespace {

constexpr const char* kWorks =
    "/apis/work.open-cluster-management.io/v1/manifestworks?labelSelector="
    "work.open-cluster-management.io%2Fmanifestworkreplicaset%3Dapps.web";
constexpr const char* kSets = "/apis/work.open-cluster-management.io/v1alpha1/namespaces/apps/manifestworkreplicasets";
const std::vector<std::string> kClusters{"c1", "n1", "n2", "n3", "n4"};
using Names = std::set<std::string>;

Json template_of(const std::string& value) {
  return {{"workload",
           {{"manifests", Json::array({{{"apiVersion", "v1"},
                                        {"kind", "ConfigMap"},
                                        {"metadata", {{"name", "page"}, {"namespace", "default"}}},
                                        {"data", {{"v", value}}}}})}}}};
}

class Rollouts : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    auto started = Fleet::start(0, false);
    ASSERT_TRUE(started) << started.error().message;
    fleet() = std::move(*started);
    ASSERT_EQ(run({"init", "--context", "hub"}).code, 0);
    start_hub();
    for (const std::string& name : kClusters) {
      const Json cluster{{"apiVersion", "cluster.open-cluster-management.io/v1"},
                         {"kind", "ManagedCluster"},
                         {"metadata", {{"name", name}, {"labels", {{"canary", name == "c1" ? "yes" : "no"}}}}},
                         {"spec", {{"hubAcceptsClient", true}}}};
      ASSERT_TRUE(eventually([&] { return hub().create(kManagedClusters, cluster).status == 201; }));
    }
    for (const std::string& name : kClusters)
      ASSERT_TRUE(hub().eventually("/api/v1/namespaces/" + name, [](const Json& ns) { return name_of(ns) != ""; }));
    const Json apps{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "apps"}}}};
    ASSERT_EQ(hub().create("/api/v1/namespaces", apps).status, 201);
    ASSERT_TRUE(hub().eventually("/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets/global",
                                 [](const Json& set) { return name_of(set) == "global"; }));
    ASSERT_EQ(run({"clusterset", "bind", "global", "-n", "apps", "--context", "hub"}).code, 0);
    const Json canary{{"groupName", "canary"},
                      {"groupClusterSelector", {{"labelSelector", {{"matchLabels", {{"canary", "yes"}}}}}}}};
    const Json placement{{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
                         {"kind", "Placement"},
                         {"metadata", {{"name", "p"}, {"namespace", "apps"}}},
                         {"spec",
                          {{"clusterSets", {"global"}},
                           {"tolerations", Json::array({{{"operator", "Exists"}}})},
                           {"decisionStrategy", {{"groupStrategy", {{"decisionGroups", Json::array({canary})}}}}}}}};
    ASSERT_EQ(hub().create("/apis/cluster.open-cluster-management.io/v1beta1/namespaces/apps/placements", placement).status, 201);
    const Json strategy{
        {"type", "Progressive"},
        {"progressive", {{"maxConcurrency", 2}, {"mandatoryDecisionGroups", Json::array({{{"groupName", "canary"}}})}}}};
    const Json set{{"apiVersion", "work.open-cluster-management.io/v1alpha1"},
                   {"kind", "ManifestWorkReplicaSet"},
                   {"metadata", {{"name", "web"}, {"namespace", "apps"}}},
                   {"spec",
                    {{"placementRefs", Json::array({{{"name", "p"}, {"rolloutStrategy", strategy}}})},
                     {"manifestWorkTemplate", template_of("1")}}}};
    ASSERT_EQ(hub().create(kSets, set).status, 201);
    agents() = std::jthread([](const std::stop_token& stop) {
      const auto config = kube::Kubeconfig::from_text(hub().kubeconfig());
      ASSERT_TRUE(config) << config.error().message;
      const auto rest = config->resolve({});
      ASSERT_TRUE(rest) << rest.error().message;
      const kube::Client client = kube::Client::connect(*rest);
      while (!stop.stop_requested()) {
        play_agents(client);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
  }
  static void TearDownTestSuite() {
    agents() = {};
    controllers().reset();
    fleet().reset();
  }
  void SetUp() override {
    FLEETADM_NEEDS_KUBE_SERVERS();
    if (HasFatalFailure() || !fleet()) GTEST_FAIL() << "the fleet did not start";
  }

  static std::unique_ptr<Fleet>& fleet() {
    static std::unique_ptr<Fleet> the_fleet;
    return the_fleet;
  }
  static KubeServer& hub() { return fleet()->hub(); }
  static std::optional<sandbox::Child>& controllers() {
    static std::optional<sandbox::Child> child;
    return child;
  }
  static std::jthread& agents() {
    static std::jthread thread;
    return thread;
  }
  static std::atomic<bool>& broken() {  // n1's agent fails
    static std::atomic<bool> value = false;
    return value;
  }
  static void start_hub(int die_after = 0) {
    controllers().reset();
    sandbox::ChildSpec spec;
    spec.program = Fleet::binary();
    spec.args = {"hub", "run", "--kubeconfig", hub().kubeconfig_file(), "--leader-elect=false"};
    spec.environment = {"HOME=" + fleet()->folder().path().string(), "PATH=/usr/bin:/bin"};
    if (die_after > 0) spec.environment.push_back("FLEETADM_EXIT_AFTER_WRITES=" + std::to_string(die_after));
    spec.output_file = (fleet()->folder().path() / "hub.log").string();
    auto child = sandbox::Child::start(spec);
    ASSERT_TRUE(child) << child.error().message;
    controllers().emplace(std::move(*child));
  }
  static Ran run(const std::vector<std::string>& args) { return fleet()->run(args); }
  static Ran rollout(std::vector<std::string> args) {
    args.insert(args.begin(), "rollout");
    args.insert(args.end(), {"-n", "apps", "--context", "hub"});
    return run(args);
  }
  static std::vector<Json> works() {
    const Json list = hub().get(kWorks);
    const Json& items = list_at(list, {"items"});
    return {items.begin(), items.end()};
  }
  static void play_agents(const kube::Client& client) {
    const std::vector<Json> all = works();
    // The failure is told before any success of its batch: the other way round, the next cluster may rightly begin in between.
    const bool told = std::any_of(all.begin(), all.end(), [](const Json& work) {
      const Json* applied = work::condition_in(list_at(work, {"status", "conditions"}), "Applied");
      return namespace_of(work) == "n1" && applied != nullptr && str(*applied, {"status"}) == "False" &&
             num(*applied, {"observedGeneration"}) == num(work, {"metadata", "generation"});
    });
    for (const Json& work : all) {
      if (broken() && !told && namespace_of(work) != "n1" && namespace_of(work) != "c1") continue;
      const Json* applied = work::condition_in(list_at(work, {"status", "conditions"}), "Applied");
      const std::int64_t generation = num(work, {"metadata", "generation"});
      const std::string wanted = namespace_of(work) == "n1" && broken() ? "False" : "True";
      if (applied != nullptr && num(*applied, {"observedGeneration"}) == generation && str(*applied, {"status"}) == wanted)
        continue;
      Json conditions = Json::array();
      for (const char* type : {"Applied", "Available"}) {
        conditions.push_back({{"type", type},
                              {"status", wanted},
                              {"reason", "Played"},
                              {"message", ""},
                              {"lastTransitionTime", format_time(Clock::system()->now())},
                              {"observedGeneration", generation}});
      }
      kube::WriteOptions options;
      options.subresource = "status";
      (void)client.patch(api::manifest_works(), namespace_of(work), name_of(work), kube::PatchType::kMerge,
                         Json{{"status", {{"conditions", conditions}}}}, options);
    }
  }
  static Names with(const std::string& value) {
    Names names;
    for (const Json& work : works()) {
      if (str(list_at(work, {"spec", "workload", "manifests"})[0], {"data", "v"}) == value) names.insert(namespace_of(work));
    }
    return names;
  }
  static void change(const std::string& value) {
    const Json body{{"spec", {{"manifestWorkTemplate", template_of(value)}}}};
    ASSERT_EQ(hub().request("PATCH", std::string(kSets) + "/web", dump_json(body), "application/merge-patch+json").status, 200);
  }
  static Ran wait_for_end() { return rollout({"status", "web", "-w", "--timeout", "30s"}); }

  /// The most clusters that were begun and not answered for at one time, by the audit log; and the clusters in the order in which
  /// they were begun.
  struct Course {
    std::size_t most = 0;
    std::vector<std::string> order;
  };
  static Course course_since(std::uintmax_t position) {
    Course course;
    Names under_way;
    for (const AuditEntry& entry : hub().audit_since(position)) {
      if (entry.resource != "manifestworks" || !entry.is_write() || entry.code >= 300) continue;
      if (entry.subresource == "status") {
        under_way.erase(entry.ns);
      } else if (entry.verb == "create" || find(entry.request, {"spec"}) != nullptr) {
        under_way.insert(entry.ns);
        course.order.push_back(entry.ns);
        course.most = std::max(course.most, under_way.size());
      }
    }
    return course;
  }
};

TEST_F(Rollouts, A_CanaryThenTheRest) {
  Ran done = wait_for_end();
  ASSERT_EQ(done.code, 0) << done.both();
  const auto position = hub().audit_position();
  change("2");
  done = wait_for_end();
  ASSERT_EQ(done.code, 0) << done.both();
  EXPECT_EQ(with("2").size(), 5U);
  const Course course = course_since(position);
  ASSERT_EQ(course.order.size(), 5U);
  EXPECT_EQ(course.order.front(), "c1");
  EXPECT_LE(course.most, 2U);
}

TEST_F(Rollouts, B_AFailingClusterStopsItAndUndoReturns) {
  broken() = true;
  change("3");
  Ran ended = wait_for_end();
  EXPECT_EQ(ended.code, 1) << ended.both();
  const Ran status = rollout({"status", "web", "-o", "json"});
  EXPECT_EQ(str(status.json(), {"state"}), "Failed") << status.both();
  EXPECT_NE(str(status.json(), {"blocking"}).find("n1"), std::string::npos);
  EXPECT_FALSE(with("3").contains("n3"));
  EXPECT_FALSE(with("3").contains("n4"));
  broken() = false;
  const Ran undone = rollout({"undo", "web"});
  ASSERT_EQ(undone.code, 0) << undone.both();
  ended = wait_for_end();
  EXPECT_EQ(ended.code, 0) << ended.both();
  EXPECT_EQ(with("2").size(), 5U);
  const Ran history = rollout({"history", "web", "-o", "json"});
  ASSERT_EQ(history.code, 0) << history.both();
  const Json told = history.json();
  const Json& items = list_at(told, {"items"});
  ASSERT_GE(items.size(), 2U);
  EXPECT_EQ(num(items.back(), {"copiedFrom"}), 2);
  EXPECT_EQ(str(items.back(), {"outcome"}), "Complete");
  EXPECT_FALSE(str(items.back(), {"by"}).empty());
}

TEST_F(Rollouts, C_PauseHoldsAndResumeGoesOn) {
  const Ran paused = rollout({"pause", "web"});
  ASSERT_EQ(paused.code, 0) << paused.both();
  const auto position = hub().audit_position();
  change("4");
  EXPECT_EQ(wait_for_end().code, 7);
  std::this_thread::sleep_for(std::chrono::seconds(5));
  for (const AuditEntry& entry : hub().audit_since(position)) {
    const bool ours = entry.user_agent.find("fleetadm") != std::string::npos && entry.is_write();
    const bool about = entry.resource == "manifestworks" || entry.resource == "manifestworkreplicasets" ||
                       entry.resource == "controllerrevisions";
    EXPECT_FALSE(ours && about) << entry.verb << " " << entry.uri;
  }
  ASSERT_EQ(rollout({"resume", "web"}).code, 0);
  const Ran done = wait_for_end();
  EXPECT_EQ(done.code, 0) << done.both();
  EXPECT_EQ(with("4").size(), 5U);
}

}  // namespace
}  // namespace fleetadm::testkit
