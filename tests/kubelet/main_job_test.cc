// The main job on real nodes, as its users do it: the image that the binary makes of itself, init, join, accept, a Deployment on
// both clusters; what goes wrong there; other versions; the gateway; back to where it began; and all that by Helm. The cases
// build on each other.
#include <future>

#include "kubeclient/config/kubeconfig.h"
#include "tests/kubelet/real_nodes.h"
#include "tests/support/https.h"
#include "tests/support/source_folder.h"

namespace fleetadm::testkit {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;

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

TEST_F(RealNodes, A_InitRunsTheHub) {
  const auto since = Steady::now();
  const Ran made = on_hub({"init", "--wait"});
  ASSERT_EQ(made.code, 0) << made.both() << fleet()->node(kHub).kubelet_log();
  tell("init to hub running", since);
  EXPECT_EQ(made.err.find("warning"), std::string::npos) << made.err;
  // Once more: a kubelet's sync that began before the probe's first answer writes what it knew, and takes Ready back for a
  // moment.
  Json hub;
  EXPECT_TRUE(eventually([&] { return pod_is_ready(hub = pod(kHub, kHubNamespace, "fleetadm-hub")); }, seconds(10)))
      << dump_json(hub) << fleet()->node(kHub).kubelet_log();
  EXPECT_EQ(restarts(hub), 0) << dump_json(hub);
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
  // The second cluster is one of IPv6, with IPv4 beside it.
  EXPECT_NE(str(agent(2), {"status", "podIP"}).find(':'), std::string::npos) << dump_json(agent(2));
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
    expect_told(i, "ready: 1 of 1 replica ready");
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
  expect_told(1, "OOMKilled");
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

TEST_F(RealNodes, H_AgentsAndTheHubGoToAnotherVersionAndBack) {
  const std::string serving = str(pod(1, "web", "web"), {"metadata", "uid"});
  const auto image_of = [](const Json& pod) {
    const Json& containers = list_at(pod, {"spec", "containers"});
    return containers.empty() ? "" : str(containers.front(), {"image"});
  };
  const auto upgrade = [](const std::string& part, std::vector<std::string> flags) {
    std::vector<std::string> args{"upgrade", part, "--yes"};
    args.insert(args.end(), flags.begin(), flags.end());
    return on_hub(args);
  };
  const Ran broken = upgrade("agent", {"-c", "c1", "--image", "fleetadm:missing", "--timeout", "6s"});
  EXPECT_NE(broken.code, 0) << broken.both();
  expect_told(1, "fleetadm:missing");
  EXPECT_EQ(condition(fleet()->hub(), std::string(kManagedClusters) + "/c1", "ManagedClusterConditionAvailable"), "True");
  const auto all_agents = [&](const std::string& version) {
    const auto since = Steady::now();
    const Ran ran = upgrade("agent", {"-c", "c1,c2", "--to", version, "--max-concurrency", "100%"});
    ASSERT_EQ(ran.code, 0) << ran.both();
    tell("two agents to " + version, since);
    for (int i = 1; i <= 2; ++i) {
      EXPECT_EQ(image_of(agent(i)), "fleetadm:" + version);
      expect_told(i, version + " ");
      expect_told(i, "ready: 1 of 1 replica ready");
    }
  };
  ASSERT_NO_FATAL_FAILURE(all_agents(kFormerVersion));
  for (const std::string version : {kFormerVersion, FLEETADM_VERSION}) {
    const auto since = Steady::now();
    const Ran hub = upgrade("hub", {"--to", version, "--wait"});
    ASSERT_EQ(hub.code, 0) << hub.both();
    tell("hub to " + version, since);
    EXPECT_EQ(image_of(pod(kHub, kHubNamespace, "fleetadm-hub")), "fleetadm:" + version);
  }
  ASSERT_NO_FATAL_FAILURE(all_agents(FLEETADM_VERSION));
  EXPECT_EQ(str(pod(1, "web", "web"), {"metadata", "uid"}), serving);
}

TEST_F(RealNodes, I_TheGatewayLeadsToClustersThatTheHubCannotReach) {
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

TEST_F(RealNodes, J_ACommandRunsInAPodOfTheHub) {
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

TEST_F(RealNodes, T_MembersLeave) {
  auto since = Steady::now();
  const Ran deleted = on_hub({"work", "delete", "web", "--placement", "apps/all", "--allow-removals"});
  EXPECT_EQ(deleted.code, 0) << deleted.both();
  tell("work delete", since);
  since = Steady::now();
  std::vector<std::future<Ran>> leaving;
  for (int i = 1; i <= 2; ++i) {
    leaving.push_back(std::async(std::launch::async, [i] {
      return fleet()->run(i, {"unjoin", "--context", cluster(i), "--hub-context", "hub", "--yes", "--allow-removals"});
    }));
  }
  for (auto& one : leaving) {
    const Ran left = one.get();
    EXPECT_EQ(left.code, 0) << left.both();
  }
  tell("unjoin of both", since);
}

// The hub itself as a member, and the cluster that the agents run on.
TEST_F(RealNodes, U_AgentsOfTwoMembersShareAPod) {
  const Ran token = on_hub({"get", "token", "-o", "json"});
  ASSERT_EQ(token.code, 0) << token.both();
  const Json ticket = token.json();
  const std::vector<std::pair<std::string, int>> members{{"local", kHub}, {"host", 1}};
  const auto on_members = [&](const std::string& verb, const std::vector<std::string>& more) {
    for (const auto& [name, at] : members) {
      std::vector<std::string> args{verb, "--mode", "hosted", "--context", "c1", "--cluster-name", name};
      args.insert(args.end(), {"--managed-cluster-context", at == kHub ? "hub" : cluster(at)});
      args.insert(args.end(), more.begin(), more.end());
      const Ran ran = fleet()->run(1, args);
      ASSERT_EQ(ran.code, 0) << ran.both() << fleet()->node(1).kubelet_log();
    }
  };
  auto since = Steady::now();
  ASSERT_NO_FATAL_FAILURE(
      on_members("join", {"--hub-apiserver", str(ticket, {"hub-apiserver"}), "--hub-token", str(ticket, {"hub-token"}),
                          "--ca-cert-hash", str(ticket, {"ca-cert-hash"}), "--wait"}));
  const Ran accepted = on_hub({"accept", "--all", "--yes", "--wait=available"});
  ASSERT_EQ(accepted.code, 0) << accepted.both();
  tell("two hosted members available", since);
  const auto works = [&](const std::string& name) {
    for (const auto& [member, at] : members) {
      const Json map{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}, {"namespace", "default"}}}};
      const auto made = fleet()->hub().create("/apis/work.open-cluster-management.io/v1/namespaces/" + member + "/manifestworks",
                                              {{"apiVersion", "work.open-cluster-management.io/v1"},
                                               {"kind", "ManifestWork"},
                                               {"metadata", {{"name", name}, {"namespace", member}}},
                                               {"spec", {{"workload", {{"manifests", Json::array({map})}}}}}});
      ASSERT_EQ(made.status, 201) << made.body;
      const std::string path = "/api/v1/namespaces/default/configmaps/" + name;
      EXPECT_TRUE(fleet()->server(at).eventually(path, [](const Json& it) { return !it.is_null(); })) << member;
    }
  };
  ASSERT_NO_FATAL_FAILURE(works("first"));
  const Json hosting = pod(1, kHostedNamespace, "fleetadm-hosted-agents");
  ASSERT_TRUE(pod_is_ready(hosting)) << dump_json(hosting);
  const auto processes = processes_of_pod(str(hosting, {"metadata", "uid"}));
  ASSERT_EQ(processes.size(), 1U);
  std::printf("agents of two members: %.1f MiB of their process's own\n",
              static_cast<double>(processes.front().anonymous) / kMiB);
  ASSERT_EQ(fleet()
                ->server(1)
                .request("DELETE", "/api/v1/namespaces/" + std::string(kHostedNamespace) + "/pods/" + name_of(hosting))
                .status,
            200);
  ASSERT_NO_FATAL_FAILURE(works("second"));
  since = Steady::now();
  ASSERT_NO_FATAL_FAILURE(on_members("unjoin", {"--hub-context", "hub", "--yes", "--allow-removals"}));
  tell("unjoin of both", since);
}

TEST_F(RealNodes, Y_NothingIsLeftInTheEnd) {
  auto since = Steady::now();
  EXPECT_EQ(fleet()->hub().request("DELETE", "/api/v1/namespaces/apps").status, 200);
  const Ran cleaned = on_hub({"clean", "--yes"});
  EXPECT_EQ(cleaned.code, 0) << cleaned.both();
  tell("clean", since);
  for (int i = 0; i <= 2; ++i) {
    eventually([&] { return inventory(fleet()->server(i)) == before()[i]; }, seconds(60), std::chrono::milliseconds(500));
    EXPECT_EQ(inventory(fleet()->server(i)), before()[i]) << (i == 0 ? "hub" : cluster(i));
  }
}

TEST_F(RealNodes, Z_ChartsDoWhatInitAndJoinDo) {
  const auto helm = equipment("FLEETADM_HELM_BIN", "tests/packages/build.sh", {"helm"}, "");
  ASSERT_TRUE(helm) << helm.error().message;
  const std::string charts = fleet()->folder().path().string();
  const auto made = fleet()->node(kHub).run({source_folder() + "/packaging/charts", charts});
  ASSERT_TRUE(made) << made.error().message;
  const auto run_helm = [&](int i, std::vector<std::string> words) {
    words.insert(words.begin(), *helm + "/helm");
    words.insert(words.end(), {"--namespace", "kube-system", "--wait", "--timeout", "5m", "--debug", "--kubeconfig",
                               fleet()->server(i).kubeconfig_file()});
    const auto ran = fleet()->node(i).run(words);
    const auto there = [&](const char* kind) { return dump_json(fleet()->server(i).get(std::string("/api/v1/") + kind)); };
    ASSERT_TRUE(ran) << ran.error().message << "\n"
                     << there("namespaces") << "\n"
                     << there("pods") << "\n"
                     << fleet()->node(i).kubelet_log();
  };
  auto since = Steady::now();
  ASSERT_NO_FATAL_FAILURE(run_helm(kHub, {"install", "hub", charts + "/fleetadm-hub"}));
  const Ran token = on_hub({"get", "token", "-o", "json"});
  ASSERT_EQ(token.code, 0) << token.both();
  const Json ticket = token.json();
  const std::string bootstrap = fleet()->folder().write(
      "bootstrap.yaml", dump_json(kube::make_kubeconfig(str(ticket, {"hub-apiserver"}), fleet()->hub().ca().certificate,
                                                        {{"token", str(ticket, {"hub-token"})}}, "bootstrap")));
  ASSERT_NO_FATAL_FAILURE(run_helm(1, {"install", "agent", charts + "/fleetadm-agent", "--set", "clusterName=c1", "--set-file",
                                       "bootstrapKubeconfig=" + bootstrap}));
  const Ran accepted = on_hub({"accept", "c1", "--yes", "--wait=available"});
  ASSERT_EQ(accepted.code, 0) << accepted.both();
  tell("hub and agent by helm", since);
  expect_told(1, "ready: 1 of 1 replica ready");
  const Ran refused = on_hub({"upgrade", "hub", "--yes"});
  EXPECT_NE(refused.err.find("helm upgrade hub"), std::string::npos) << refused.both();
  since = Steady::now();
  const Ran left = on_hub({"unjoin", "--hub-only", "--cluster-name", "c1", "--yes"});
  EXPECT_EQ(left.code, 0) << left.both();
  ASSERT_NO_FATAL_FAILURE(run_helm(1, {"uninstall", "agent"}));
  ASSERT_NO_FATAL_FAILURE(run_helm(kHub, {"uninstall", "hub"}));
  // What Helm leaves by its own rules: the CRDs of a chart.
  for (int i = 0; i <= 1; ++i) {
    const std::string definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const std::string ours = "?labelSelector=fleetadm.io%2Fpart";
    EXPECT_FALSE(list_at(fleet()->server(i).get(definitions + ours), {"items"}).empty());
    EXPECT_EQ(fleet()->server(i).request("DELETE", definitions + ours).status, 200);
    eventually([&] { return inventory(fleet()->server(i)) == before()[i]; }, seconds(60), std::chrono::milliseconds(500));
    EXPECT_EQ(inventory(fleet()->server(i)), before()[i]) << (i == 0 ? "hub" : cluster(i));
  }
  tell("removed", since);
}

}  // namespace
}  // namespace fleetadm::testkit
