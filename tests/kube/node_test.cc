// The process node on a real cluster: what init and join deploy runs like this.
#include <csignal>
#include <gtest/gtest.h>

#include "kubeclient/base/clock.h"
#include "tests/support/kube_servers.h"
#include "tests/support/sandbox_node.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::seconds;
constexpr std::string_view kNs = "/api/v1/namespaces/default";
constexpr std::string_view kApps = "/apis/apps/v1/namespaces/default/deployments";
constexpr std::string_view kJobs = "/apis/batch/v1/namespaces/default/jobs";

Json pod_spec(const std::string& image, const Json& args, std::string_view policy) {
  return {{"restartPolicy", policy},
          {"terminationGracePeriodSeconds", 10},
          {"nodeSelector", {{"kubernetes.io/hostname", "outer"}}},
          {"containers", Json::array({{{"name", "main"}, {"image", image}, {"args", args}}})}};
}

Json deployment(const std::string& name, const Json& spec, const Json& annotations = Json::object()) {
  return {{"apiVersion", "apps/v1"},
          {"kind", "Deployment"},
          {"metadata", {{"name", name}}},
          {"spec",
           {{"replicas", 1},
            {"selector", {{"matchLabels", {{"app", name}}}}},
            {"template", {{"metadata", {{"labels", {{"app", name}}}, {"annotations", annotations}}}, {"spec", spec}}}}}};
}

Json job(const std::string& name, const Json& spec, const Json& annotations = Json::object()) {
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", {{"name", name}}},
          {"spec", {{"backoffLimit", 0}, {"template", {{"metadata", {{"annotations", annotations}}}, {"spec", spec}}}}}};
}

class ProcessNode : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    auto started = KubeServer::start({.name = "node"});
    ASSERT_TRUE(started) << started.error().message;
    server_slot() = std::move(*started);
    auto node = SandboxNode::start(server(), {.name = "outer", .cpu = "3", .memory = "5Gi"});
    ASSERT_TRUE(node) << node.error().message;
    node_slot() = std::move(*node);
  }
  static void TearDownTestSuite() {
    node_slot().reset();
    server_slot().reset();
  }
  void SetUp() override { FLEETADM_NEEDS_KUBE_SERVERS(); }

  static std::unique_ptr<KubeServer>& server_slot() {
    static std::unique_ptr<KubeServer> slot;
    return slot;
  }
  static std::unique_ptr<SandboxNode>& node_slot() {
    static std::unique_ptr<SandboxNode> slot;
    return slot;
  }
  static KubeServer& server() { return *server_slot(); }
  static SandboxNode& node() { return *node_slot(); }

  static void create(std::string_view collection, const Json& object) {
    const auto answer = server().create(collection, object);
    ASSERT_EQ(answer.status, 201) << answer.body;
  }
  static bool available(const std::string& name, std::int64_t replicas, Duration timeout = seconds(30)) {
    return server().eventually(
        std::string(kApps) + "/" + name,
        [&](const Json& object) {
          return num(object, {"status", "availableReplicas"}) == replicas;
        },
        timeout);
  }
  static Json first_pod(const std::string& app) {
    const Json pods = server().get(std::string(kNs) + "/pods?labelSelector=app%3D" + app);
    const Json& items = list_at(pods, {"items"});
    return items.empty() ? Json() : items.front();
  }
  static bool job_has(const std::string& name, std::string_view condition) {
    return server().eventually(std::string(kJobs) + "/" + name, [&](const Json& object) {
      for (const Json& each : list_at(object, {"status", "conditions"})) {
        if (str(each, {"type"}) == condition && str(each, {"status"}) == "True") return true;
      }
      return false;
    });
  }
};

TEST_F(ProcessNode, RegistersWithItsCapacityAndKeepsItsLease) {
  const Json object = server().get("/api/v1/nodes/outer");
  EXPECT_EQ(str(object, {"status", "capacity", "cpu"}), "3");
  EXPECT_EQ(str(object, {"status", "allocatable", "memory"}), "5Gi");
  EXPECT_EQ(label_of(object, "kubernetes.io/hostname"), "outer");
  // The controller manager takes the taint of a new node away once it has seen that it is ready.
  EXPECT_TRUE(server().eventually("/api/v1/nodes/outer", [](const Json& found) {
    return list_at(found, {"spec", "taints"}).empty();
  }));
  const std::string lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/outer";
  ASSERT_TRUE(server().eventually(lease, [](const Json& found) { return found.is_object(); }));
  const std::string first = str(server().get(lease), {"spec", "renewTime"});
  ASSERT_TRUE(parse_time(first));
  EXPECT_TRUE(server().eventually(lease, [&](const Json& found) { return str(found, {"spec", "renewTime"}) != first; }));
}

TEST_F(ProcessNode, RunsOtherImagesWithoutRunningAnything) {
  create(kApps, deployment("web", pod_spec("nginx:1.25", Json::array(), "Always")));
  EXPECT_TRUE(available("web", 1));
  const Json pod = first_pod("web");
  EXPECT_EQ(str(pod, {"spec", "nodeName"}), "outer");
  EXPECT_EQ(str(pod, {"status", "phase"}), "Running");
  create(kApps, deployment("shy", pod_spec("nginx:1.25", Json::array(), "Always"), {{"sandbox.fleetadm.io/outcome", "unready"}}));
  ASSERT_TRUE(eventually([] { return str(first_pod("shy"), {"status", "phase"}) == "Running"; }));
  EXPECT_EQ(num(server().get(std::string(kApps) + "/shy"), {"status", "availableReplicas"}), 0);
}

TEST_F(ProcessNode, JobsEndAsAskedForAndAsTheirProcessesDo) {
  create(kJobs, job("pretended", pod_spec("busybox", Json::array(), "Never")));
  create(kJobs, job("pretended-failure", pod_spec("busybox", Json::array(), "Never"), {{"sandbox.fleetadm.io/outcome", "fail"}}));
  create(kJobs, job("real", pod_spec("quay.io/x/fleetadm:dev", Json::array({"help"}), "Never")));
  create(kJobs, job("real-failure", pod_spec("quay.io/x/fleetadm:dev", Json::array({"no-such-command"}), "Never")));
  EXPECT_TRUE(job_has("pretended", "Complete"));
  EXPECT_TRUE(job_has("pretended-failure", "Failed"));
  EXPECT_TRUE(job_has("real", "Complete"));
  EXPECT_TRUE(job_has("real-failure", "Failed"));
  EXPECT_NE(node().pod_log("default", "real-failure-").find("no-such-command"), std::string::npos);
}

// A pod that is a node of the same cluster: it can only register itself with the pod's own token, CA and API address.
TEST_F(ProcessNode, RunsFleetadmWithItsServiceAccount) {
  create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
         {{"metadata", {{"name", "inner"}}},
          {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", "cluster-admin"}}},
          {"subjects", Json::array({{{"kind", "ServiceAccount"}, {"name", "default"}, {"namespace", "default"}}})}});
  Json spec = pod_spec("fleetadm:dev", Json::array({"sandbox", "node", "--name", "$(POD_NAME)", "--cpu", "1"}), "Always");
  spec["containers"][0]["env"] =
      Json::array({{{"name", "POD_NAME"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "metadata.name"}}}}}}});
  create(kApps, deployment("inner", spec));
  ASSERT_TRUE(available("inner", 1));
  const Json pod = first_pod("inner");
  const std::string name = name_of(pod);
  ASSERT_TRUE(server().eventually(
      "/api/v1/nodes/" + name, [](const Json& found) { return found.is_object(); }, seconds(60)))
      << node().pod_log("default", "inner-");
  EXPECT_EQ(str(server().get("/api/v1/nodes/" + name), {"status", "capacity", "cpu"}), "1");
  const auto registered = server().audit([&](const AuditEntry& entry) {
    return entry.verb == "create" && entry.resource == "nodes" && entry.user == "system:serviceaccount:default:default";
  });
  EXPECT_EQ(registered.size(), 1U);

  // Killed, it is started again, and counted.
  const std::string pid_line = "as process ";
  const std::string log = [&] {
    std::string all;
    for (const auto& entry : std::filesystem::directory_iterator(node().log_folder())) {
      if (entry.path().filename() == "node.log") {
        FILE* file = std::fopen(entry.path().c_str(), "r");
        std::array<char, 65536> text{};
        all.assign(text.data(), std::fread(text.data(), 1, text.size(), file));
        std::fclose(file);
      }
    }
    return all;
  }();
  const auto at = log.find(pid_line, log.find("started default/" + name));
  ASSERT_NE(at, std::string::npos) << log;
  ASSERT_EQ(kill(std::stoi(log.substr(at + pid_line.size())), SIGKILL), 0);
  EXPECT_TRUE(server().eventually(std::string(kNs) + "/pods/" + name, [](const Json& found) {
    const Json& statuses = list_at(found, {"status", "containerStatuses"});
    return !statuses.empty() && num(statuses.front(), {"restartCount"}) == 1 && flag(statuses.front(), {"ready"}) &&
           num(statuses.front(), {"lastState", "terminated", "exitCode"}) == 137;
  }));

  // Deleted, it is ended by SIGTERM within its grace, and the object goes when the process has gone.
  ASSERT_EQ(server().request("DELETE", std::string(kApps) + "/inner").status, 200);
  EXPECT_TRUE(server().eventually(std::string(kNs) + "/pods/" + name, [](const Json& found) { return found.is_null(); }));
  server().request("DELETE", "/api/v1/nodes/" + name);
}

TEST_F(ProcessNode, StartsWithoutAPodThatCannotStart) {
  Json spec = pod_spec("fleetadm:dev", Json::array({"help"}), "Always");
  spec["containers"][0]["envFrom"] = Json::array({{{"configMapRef", {{"name", "later"}}}}});
  create(kApps, deployment("patient", spec));
  auto reason = [] {
    const Json pod = first_pod("patient");
    const Json& statuses = list_at(pod, {"status", "containerStatuses"});
    return statuses.empty() ? std::string() : str(statuses.front(), {"state", "waiting", "reason"});
  };
  EXPECT_TRUE(eventually([&] { return reason() == "CreateContainerConfigError"; }));
  create(std::string(kNs) + "/configmaps", {{"metadata", {{"name", "later"}}}, {"data", {{"A", "b"}}}});
  // "help" ends at once: that it was run at all shows as a crash loop.
  EXPECT_TRUE(eventually([&] { return reason() == "CrashLoopBackOff"; }));
  server().request("DELETE", std::string(kApps) + "/patient");
}

TEST_F(ProcessNode, EndsItsProcessesWithItself) {
  auto second = SandboxNode::start(server(), {.name = "brief"});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ((*second)->stop().code, 0);
}

}  // namespace
}  // namespace fleetadm::testkit
