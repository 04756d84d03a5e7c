// The main job on real nodes, as its users do it: the image that the binary makes of itself, init, join, accept, a Deployment on
// both clusters; what goes wrong there; the gateway; and back to where it began. The cases build on each other.
#include <chrono>
#include <cstdio>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/kubelet/images.h"
#include "tests/kubelet/real_fleet.h"
#include "tests/support/fleet_test.h"
#include "tests/support/https.h"

namespace fleetadm::testkit {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr int kHub = 0;
constexpr const char* kHubNamespace = "open-cluster-management-hub";
constexpr const char* kAgentNamespace = "open-cluster-management-agent";
constexpr std::int64_t kMiB = 1024 * 1024;
constexpr seconds kPatience{120};

/// A namespace, and a Deployment of one pod with V=version in its environment, which gets ready or never does.
std::string web(const std::string& version, bool gets_ready = true) {
  return R"(apiVersion: v1
kind: Namespace
metadata: {name: web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: web
        image: )" +
         std::string(kWorkloadImage) + R"(
        env: [{name: V, value: ")" +
         version + R"("}]
        readinessProbe: {periodSeconds: 1, exec: {command: [/workload, exit, ")" +
         (gets_ready ? "0" : "1") + R"("]}}
)";
}

class RealNodes : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!ContainerNode::needs()) return;
    const auto since = Steady::now();
    auto started = RealFleet::start(2);
    ASSERT_TRUE(started) << started.error().message;
    fleet() = std::move(*started);
    tell("nodes ready", since);
    allow_carol(fleet()->hub(),
                {{"apiGroups", {"proxy.open-cluster-management.io"}}, {"resources", {"clusters/proxy"}}, {"verbs", {"*"}}});
    for (int i = 1; i <= 2; ++i)
      allow_carol(fleet()->server(i), {{"apiGroups", {"", "apps"}}, {"resources", {"*"}}, {"verbs", {"*"}}});
    for (int i = 0; i <= 2; ++i) before()[i] = inventory(fleet()->server(i));
  }
  static void TearDownTestSuite() { fleet().reset(); }
  void SetUp() override {
    if (const Status able = ContainerNode::needs(); !able) {
      if (in_ci()) FAIL() << able.error().message << "; " << able.error().hint;
      GTEST_SKIP() << able.error().message << "; " << able.error().hint;
    }
    ASSERT_TRUE(fleet()) << "the nodes did not start";
    if (broken()) GTEST_FAIL() << "a case before this one failed";
  }
  void TearDown() override { broken() = broken() || HasFatalFailure(); }

  static std::unique_ptr<RealFleet>& fleet() {
    static std::unique_ptr<RealFleet> the_fleet;
    return the_fleet;
  }
  static std::map<int, std::set<std::string>>& before() {
    static std::map<int, std::set<std::string>> all;
    return all;
  }
  static bool& broken() {
    static bool is_broken = false;
    return is_broken;
  }
  static void tell(const std::string& what, Steady::time_point since) {
    std::printf("%s: %.1f s\n", what.c_str(), std::chrono::duration<double>(Steady::now() - since).count());
    std::fflush(stdout);
  }
  static std::string cluster(int i) { return "c" + std::to_string(i); }
  static Ran on_hub(std::vector<std::string> args, const std::string& input = {}) {
    RunOptions options;
    options.input = input;
    args.insert(args.end(), {"--context", "hub"});
    return fleet()->run(kHub, args, options);
  }
  static Ran apply_web(const std::string& manifests, std::vector<std::string> flags = {}) {
    std::vector<std::string> args{"work", "apply", "web", "-f", "-", "--placement", "apps/all"};
    args.insert(args.end(), flags.begin(), flags.end());
    return on_hub(args, manifests);
  }
  /// As a user who may use the proxy, and Pods and Deployments at the clusters.
  static Ran as_carol(const std::vector<std::string>& args) {
    RunOptions options;
    options.environment = {{"KUBECONFIG", fleet()->hub().kubeconfig_file_for("carol")}};
    return fleet()->run(kHub, args, options);
  }
  static Ran kubectl(int i, const std::vector<std::string>& args) {
    std::vector<std::string> words{"proxy", "kubectl", "--cluster", cluster(i), "--", "--namespace", "web"};
    words.insert(words.end(), args.begin(), args.end());
    return as_carol(words);
  }
  /// The only pod of a Deployment; null where it has none, or several.
  static Json pod(int i, const std::string& ns, const std::string& app) {
    const auto pods = pods_of(fleet()->server(i), ns, app);
    return pods.size() == 1 ? pods.front() : Json();
  }
  static Json agent(int i) { return pod(i, kAgentNamespace, "fleetadm-agent"); }
  static std::string version_of(const Json& pod) {
    for (const Json& container : list_at(pod, {"spec", "containers"}))
      for (const Json& one : list_at(container, {"env"})) return str(one, {"value"});
    return {};
  }
  static std::int64_t restarts(const Json& pod) {
    for (const Json& container : list_at(pod, {"status", "containerStatuses"})) return num(container, {"restartCount"});
    return 0;
  }
  /// The one pod of web is of this version, and ready.
  static bool serves(int i, const std::string& version) {
    const Json only = pod(i, "web", "web");
    return version_of(only) == version && pod_is_ready(only);
  }
  static void expect_served(const std::string& version) {
    for (int i = 1; i <= 2; ++i) {
      EXPECT_TRUE(eventually([&] { return serves(i, version); }, kPatience))
          << cluster(i) << " does not serve " << version << ": " << dump_json(pod(i, "web", "web"));
    }
  }
};

TEST_F(RealNodes, A_InitRunsTheHub) {
  const auto since = Steady::now();
  const Ran made = on_hub({"init", "--wait"});
  ASSERT_EQ(made.code, 0) << made.both() << fleet()->node(kHub).kubelet_log();
  tell("init to hub running", since);
  EXPECT_EQ(made.err.find("warning"), std::string::npos) << made.err;
  EXPECT_TRUE(pod_is_ready(pod(kHub, kHubNamespace, "fleetadm-hub")));
}

TEST_F(RealNodes, B_ClustersJoin) {
  const Ran token = on_hub({"get", "token", "-o", "json"});
  ASSERT_EQ(token.code, 0) << token.both();
  const Json ticket = token.json();
  for (int i = 1; i <= 2; ++i) {
    const auto since = Steady::now();
    const Ran joined = fleet()->run(
        i, {"join", "--context", cluster(i), "--cluster-name", cluster(i), "--hub-apiserver", str(ticket, {"hub-apiserver"}),
            "--hub-token", str(ticket, {"hub-token"}), "--ca-cert-hash", str(ticket, {"ca-cert-hash"}), "--wait"});
    ASSERT_EQ(joined.code, 0) << joined.both() << fleet()->node(i).kubelet_log();
    tell("join of " + cluster(i), since);
  }
  const Ran accepted = on_hub({"accept", "--all", "--yes", "--wait=available"});
  ASSERT_EQ(accepted.code, 0) << accepted.both();
  // Only the agents lead there.
  HttpsRequest request;
  request.url = "https://10.244.1.1:443/readyz";
  request.timeout_seconds = 2;
  request.network = fleet()->hub().network().get();
  EXPECT_EQ(https(request).status, 0);
}

TEST_F(RealNodes, C_ADeploymentRollsOutToBoth) {
  ASSERT_EQ(fleet()->hub().create("/api/v1/namespaces", {{"metadata", {{"name", "apps"}}}}).status, 201);
  for (const std::vector<std::string>& args : {std::vector<std::string>{"clusterset", "bind", "default", "-n", "apps"},
                                               {"placement", "create", "all", "-n", "apps", "--wait"}}) {
    const Ran ran = on_hub(args);
    ASSERT_EQ(ran.code, 0) << ran.both();
  }
  const Ran made = apply_web(web("1"), {"--max-concurrency", "1", "--wait=ready"});
  ASSERT_EQ(made.code, 0) << made.both();
  expect_served("1");
  for (int i = 1; i <= 2; ++i) {
    const auto processes = processes_of_pod(str(agent(i), {"metadata", "uid"}));
    ASSERT_EQ(processes.size(), 1U);
    const ContainerProcess& running = processes.front();
    std::printf("agent of %s: %.1f MiB resident, %.1f MiB of it its own\n", cluster(i).c_str(),
                static_cast<double>(running.resident) / kMiB, static_cast<double>(running.anonymous) / kMiB);
    EXPECT_GT(running.anonymous, 0);
    EXPECT_LT(running.anonymous, 10 * kMiB);
  }
}

TEST_F(RealNodes, D_ACanaryThatNeverGetsReadyStopsTheRolloutAndUndoHealsIt) {
  const std::string untouched = str(pod(2, "web", "web"), {"metadata", "uid"});
  const Ran applied = apply_web(web("2", false), {"--progress-deadline", "20s"});
  ASSERT_EQ(applied.code, 0) << applied.both();
  const Ran ended = on_hub({"rollout", "status", "web", "-n", "apps", "-w", "--timeout", "120s"});
  EXPECT_EQ(ended.code, 6) << "timed out: " << ended.both();
  EXPECT_EQ(pods_of(fleet()->server(1), "web", "web").size(), 2U) << "the old pod goes on beside the new one";
  EXPECT_EQ(str(pod(2, "web", "web"), {"metadata", "uid"}), untouched);
  const Ran undone = on_hub({"rollout", "undo", "web", "-n", "apps"});
  ASSERT_EQ(undone.code, 0) << undone.both();
  const Ran well = on_hub({"rollout", "status", "web", "-n", "apps", "-w", "--timeout", "120s"});
  EXPECT_EQ(well.code, 0) << well.both();
  expect_served("1");
  EXPECT_EQ(str(pod(2, "web", "web"), {"metadata", "uid"}), untouched);
}

TEST_F(RealNodes, E_NothingIsLostWhenAnAgentNeedsMoreMemoryThanItMayHave) {
  const std::string serving = str(pod(1, "web", "web"), {"metadata", "uid"});
  const auto processes = processes_of_pod(str(agent(1), {"metadata", "uid"}));
  ASSERT_EQ(processes.size(), 1U);
  const Status limited = forbid_more_memory(processes.front().memory_cgroup);
  ASSERT_TRUE(limited) << limited.error().message;
  const std::string page(400'000, 'x');
  const Ran made =
      on_hub({"work", "create", "large", "-f", "-", "--clusters", "c1"},
             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: large, namespace: default}\ndata: {page: " + page + "}\n");
  ASSERT_EQ(made.code, 0) << made.both();
  EXPECT_TRUE(eventually([&] { return restarts(agent(1)) > 0; }, kPatience)) << dump_json(agent(1));
  EXPECT_NE(dump_json(agent(1)).find("OOMKilled"), std::string::npos) << dump_json(agent(1));
  EXPECT_TRUE(fleet()->server(1).eventually(
      "/api/v1/namespaces/default/configmaps/large",
      [&](const Json& map) {
        return str(map, {"data", "page"}) == page;
      },
      kPatience));
  EXPECT_EQ(str(pod(1, "web", "web"), {"metadata", "uid"}), serving);
  EXPECT_EQ(restarts(pod(1, "web", "web")), 0);
}

TEST_F(RealNodes, F_NothingIsLostWhenContainerdRestarts) {
  const Json old_agent = agent(2);
  fleet()->node(2).kill_containerd();
  const Ran applied = apply_web(web("3"));
  ASSERT_EQ(applied.code, 0) << applied.both();
  EXPECT_TRUE(eventually([&] { return serves(1, "3"); }, kPatience));
  const Status again = fleet()->node(2).start_containerd();
  ASSERT_TRUE(again) << again.error().message;
  expect_served("3");
  EXPECT_EQ(str(agent(2), {"metadata", "uid"}), str(old_agent, {"metadata", "uid"}));
  EXPECT_EQ(restarts(agent(2)), restarts(old_agent)) << "containers go on without it";
}

TEST_F(RealNodes, G_NothingIsLostWhenTheHubIsEvicted) {
  const std::string old_hub = name_of(pod(kHub, kHubNamespace, "fleetadm-hub"));
  const auto evicted = fleet()->hub().create(
      std::string("/api/v1/namespaces/") + kHubNamespace + "/pods/" + old_hub + "/eviction",
      {{"apiVersion", "policy/v1"}, {"kind", "Eviction"}, {"metadata", {{"name", old_hub}, {"namespace", kHubNamespace}}}});
  ASSERT_EQ(evicted.status, 201) << evicted.body;
  const Ran applied = apply_web(web("4"));
  ASSERT_EQ(applied.code, 0) << applied.both();
  expect_served("4");
  EXPECT_NE(name_of(pod(kHub, kHubNamespace, "fleetadm-hub")), old_hub);
  const Ran status = on_hub({"rollout", "status", "web", "-n", "apps", "-w", "--timeout", "60s"});
  EXPECT_EQ(status.code, 0) << status.both();
}

TEST_F(RealNodes, H_TheGatewayLeadsToClustersThatTheHubCannotReach) {
  const Ran made = on_hub({"init", "--gateway", "--gateway-address", "10.244.0.1", "--wait"});
  ASSERT_EQ(made.code, 0) << made.both();
  // What its Service would need, a load balancer, is not here: its pod takes the address of the node.
  const Json on_node{
      {"spec",
       {{"strategy", {{"type", "Recreate"}, {"rollingUpdate", nullptr}}}, {"template", {{"spec", {{"hostNetwork", true}}}}}}}};
  const auto patched =
      fleet()->hub().request("PATCH", std::string("/apis/apps/v1/namespaces/") + kHubNamespace + "/deployments/fleetadm-gateway",
                             dump_json(on_node), "application/strategic-merge-patch+json");
  ASSERT_EQ(patched.status, 200) << patched.body;
  Ran health;
  EXPECT_TRUE(eventually(
      [&] {
        return (health = as_carol({"proxy", "health", "--clusters", "c1,c2"})).code == 0;
      },
      kPatience, seconds(1)))
      << health.both();
  for (int i = 1; i <= 2; ++i) {
    const std::string name = name_of(pod(i, "web", "web"));
    const Ran listed = kubectl(i, {"get", "pods", "-o", "name"});
    EXPECT_EQ(listed.out, "pod/" + name + "\n") << listed.both();
    const Ran log = kubectl(i, {"logs", name});
    EXPECT_EQ(log.out, "at work\n") << log.both();
    const Ran said = kubectl(i, {"exec", name, "--", "/workload", "say", "hello", cluster(i)});
    EXPECT_EQ(said.out, "hello " + cluster(i) + "\n") << said.both();
    const Ran failed = kubectl(i, {"exec", name, "--", "/workload", "exit", "7"});
    EXPECT_EQ(failed.code, 7) << failed.both();
  }
}

TEST_F(RealNodes, I_ACommandRunsInAPodOfTheHub) {
  const auto since = Steady::now();
  const Ran ran = fleet()->run(kHub, {"in-pod", "--context", "hub", "--cluster-role", "cluster-admin", "--timeout", "90s", "--",
                                      "get", "clusters", "-o", "name"});
  tell("a command in a pod", since);
  EXPECT_EQ(ran.code, 0) << ran.both();
  for (int i = 1; i <= 2; ++i) EXPECT_NE(ran.out.find(cluster(i)), std::string::npos) << ran.both();
  const Ran refused = fleet()->run(kHub, {"in-pod", "--context", "hub", "--timeout", "90s", "--", "get", "clusters"});
  EXPECT_EQ(refused.code, 4) << refused.both();
  EXPECT_NE(refused.out.find("forbidden"), std::string::npos) << refused.both();
}

TEST_F(RealNodes, Y_NothingIsLeftInTheEnd) {
  auto since = Steady::now();
  const Ran deleted = on_hub({"work", "delete", "web", "--placement", "apps/all", "--allow-removals"});
  EXPECT_EQ(deleted.code, 0) << deleted.both();
  tell("work delete", since);
  for (int i = 1; i <= 2; ++i) {
    since = Steady::now();
    const Ran left = fleet()->run(i, {"unjoin", "--context", cluster(i), "--hub-context", "hub", "--yes", "--allow-removals"});
    EXPECT_EQ(left.code, 0) << left.both();
    tell("unjoin of " + cluster(i), since);
  }
  EXPECT_EQ(fleet()->hub().request("DELETE", "/api/v1/namespaces/apps").status, 200);
  since = Steady::now();
  const Ran cleaned = on_hub({"clean", "--yes"});
  EXPECT_EQ(cleaned.code, 0) << cleaned.both();
  tell("clean", since);
  for (int i = 0; i <= 2; ++i) {
    eventually([&] { return inventory(fleet()->server(i)) == before()[i]; }, seconds(60), std::chrono::milliseconds(500));
    EXPECT_EQ(inventory(fleet()->server(i)), before()[i]) << (i == 0 ? "hub" : cluster(i));
  }
}

}  // namespace
}  // namespace fleetadm::testkit
