// Somebody else's controllers on a sandbox server: the real kube-controller-manager keeps Deployments, Jobs, namespaces, service
// accounts and garbage, as it does on the real one.
#include <gtest/gtest.h>

#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {
namespace {

constexpr const char* kWorkPods = "/api/v1/namespaces/work/pods";

class ControllerManagerOnSandbox : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs() || KubeServer::on_sandbox()) return;
    auto started = KubeServer::start(
        {.name = "managed", .controller_manager = true, .apiserver_flags = {}, .embedded = true, .controller_manager_flags = {}});
    ASSERT_TRUE(started) << started.error().message;
    server() = std::move(*started);
    const Json space = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "work"}}}};
    ASSERT_EQ(server()->create("/api/v1/namespaces", space).status, 201);
  }
  static void TearDownTestSuite() { server().reset(); }
  void SetUp() override {
    FLEETADM_NEEDS_KUBE_SERVERS();
    if (KubeServer::on_sandbox()) GTEST_SKIP() << "this run has no real programs";
    ASSERT_TRUE(server());
  }

  static std::unique_ptr<KubeServer>& server() {
    static std::unique_ptr<KubeServer> the_server;
    return the_server;
  }
  static std::size_t count(const std::string& path) {
    const Json list = server()->get(path);
    return list_at(list, {"items"}).size();
  }
  static Json pod_spec(const char* restart) {
    return {{"containers", Json::array({{{"name", "c"}, {"image", "example.com/app:1"}}})}, {"restartPolicy", restart}};
  }
  /// What a kubelet would report of all pods with a label.
  static void report(const std::string& label, const Json& status) {
    const Json list = server()->get(std::string(kWorkPods) + "?labelSelector=" + label);
    for (const Json& pod : list_at(list, {"items"})) {
      const auto answer = server()->request("PATCH", std::string(kWorkPods) + "/" + name_of(pod) + "/status",
                                            dump_json({{"status", status}}), "application/merge-patch+json");
      EXPECT_EQ(answer.status, 200) << answer.body;
    }
  }
};

TEST_F(ControllerManagerOnSandbox, KeepsADeploymentAndItsGarbage) {
  const Json labels = {{"app", "web"}};
  const Json deployment = {{"apiVersion", "apps/v1"},
                           {"kind", "Deployment"},
                           {"metadata", {{"name", "web"}, {"namespace", "work"}}},
                           {"spec",
                            {{"replicas", 2},
                             {"selector", {{"matchLabels", labels}}},
                             {"template", {{"metadata", {{"labels", labels}}}, {"spec", pod_spec("Always")}}}}}};
  const std::string path = "/apis/apps/v1/namespaces/work/deployments";
  ASSERT_EQ(server()->create(path, deployment).status, 201);
  EXPECT_TRUE(eventually([] { return count(std::string(kWorkPods) + "?labelSelector=app=web") == 2; }));
  report("app=web", {{"phase", "Running"},
                     {"conditions",
                      Json::array({{{"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", "2026-01-01T00:00:00Z"}}})}});
  EXPECT_TRUE(eventually([&] {
    return num(server()->get(path + "/web"), {"status", "availableReplicas"}) == 2;
  })) << dump_json(server()->get(path + "/web"));
  const auto image = server()->request(
      "PATCH", path + "/web", R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"example.com/app:2"}]}}}})",
      "application/strategic-merge-patch+json");
  ASSERT_EQ(image.status, 200) << image.body;
  EXPECT_TRUE(eventually([] { return count("/apis/apps/v1/namespaces/work/replicasets") == 2; }));
  ASSERT_EQ(server()->request("DELETE", path + "/web").status, 200);
  EXPECT_TRUE(eventually(
      [] {
        return count("/apis/apps/v1/namespaces/work/replicasets") == 0 &&
               count(std::string(kWorkPods) + "?labelSelector=app=web") == 0;
      },
      std::chrono::seconds(60)));
}

TEST_F(ControllerManagerOnSandbox, CompletesAJob) {
  const Json job = {{"apiVersion", "batch/v1"},
                    {"kind", "Job"},
                    {"metadata", {{"name", "once"}, {"namespace", "work"}}},
                    {"spec", {{"completions", 2}, {"parallelism", 2}, {"template", {{"spec", pod_spec("Never")}}}}}};
  const std::string path = "/apis/batch/v1/namespaces/work/jobs";
  ASSERT_EQ(server()->create(path, job).status, 201);
  EXPECT_TRUE(eventually([] { return count(std::string(kWorkPods) + "?labelSelector=job-name=once") == 2; }));
  report("job-name=once", {{"phase", "Succeeded"}});
  EXPECT_TRUE(eventually([&] {
    const Json now = server()->get(path + "/once");
    for (const Json& condition : list_at(now, {"status", "conditions"})) {
      if (str(condition, {"type"}) == "Complete") return str(condition, {"status"}) == "True";
    }
    return false;
  })) << dump_json(server()->get(path + "/once"));
}

TEST_F(ControllerManagerOnSandbox, BeginsAndEndsNamespaces) {
  const Json space = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "short"}}}};
  ASSERT_EQ(server()->create("/api/v1/namespaces", space).status, 201);
  EXPECT_TRUE(eventually([] {
    return !server()->get("/api/v1/namespaces/short/serviceaccounts/default").is_null() &&
           !server()->get("/api/v1/namespaces/short/configmaps/kube-root-ca.crt").is_null();
  }));
  const Json secret = {{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", {{"name", "s"}, {"namespace", "short"}}}};
  ASSERT_EQ(server()->create("/api/v1/namespaces/short/secrets", secret).status, 201);
  ASSERT_EQ(server()->request("DELETE", "/api/v1/namespaces/short").status, 200);
  EXPECT_TRUE(eventually([] { return server()->get("/api/v1/namespaces/short").is_null(); }, std::chrono::seconds(60)))
      << dump_json(server()->get("/api/v1/namespaces/short"));
}

TEST_F(ControllerManagerOnSandbox, CollectsWhatHasNoOwner) {
  const auto map = [](const char* name) {
    return Json{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}, {"namespace", "work"}}}};
  };
  const std::string path = "/api/v1/namespaces/work/configmaps";
  const Json owner = server()->create(path, map("owner")).json();
  Json owned = map("owned");
  owned["metadata"]["ownerReferences"] =
      Json::array({{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"name", "owner"}, {"uid", uid_of(owner)}}});
  ASSERT_EQ(server()->create(path, owned).status, 201);
  ASSERT_EQ(server()->request("DELETE", path + "/owner").status, 200);
  EXPECT_TRUE(eventually([&] { return server()->get(path + "/owned").is_null(); }, std::chrono::seconds(60)));
}

}  // namespace
}  // namespace fleetadm::testkit
