// Both ways with upstream's own programs: their agents on our hub, our agent on their hub, and their command line on our hub.
#include <gtest/gtest.h>

#include "kubeclient/base/yaml.h"
#include "kubeclient/config/kubeconfig.h"
#include "tests/interop/peers.h"
#include "tests/support/fleet.h"
#include "tests/support/source_folder.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kManifest = R"(apiVersion: v1
kind: ConfigMap
metadata: {name: from-hub, namespace: default}
data: {key: value}
)";

class Interop : public ::testing::Test {
 protected:
  void SetUp() override {
    FLEETADM_NEEDS_KUBE_SERVERS();
    if (!peers_folder())
      GTEST_SKIP() << "FLEETADM_PEERS names no folder with upstream's programs (registration, placement, work, clusteradm)";
  }

  // Upstream's own command line, with one server's kubeconfig.
  static Ran clusteradm(const Fleet& fleet, const KubeServer& server, const std::vector<std::string>& args) {
    const std::string base = (fleet.folder().path() / "clusteradm").string();
    sandbox::ChildSpec spec;
    spec.program = "/bin/sh";
    spec.args = {"-c", R"(base=$1; shift; exec "$@" >"$base.out" 2>"$base.err" </dev/null)", "sh", base,
                 *peers_folder() + "/clusteradm"};
    spec.args.insert(spec.args.end(), args.begin(), args.end());
    spec.environment = {"HOME=" + fleet.folder().path().string(), "PATH=/usr/bin:/bin", "KUBECONFIG=" + server.kubeconfig_file()};
    Ran ran;
    auto child = sandbox::Child::start(spec);
    if (!child) return ran;
    if (const auto status = child->wait(std::chrono::seconds(60))) ran.code = status->code;
    ran.out = read_file(base + ".out");
    ran.err = read_file(base + ".err");
    return ran;
  }
  // An add-on whose agent registers with the hub.
  static void enable_addon(Fleet& fleet) {
    constexpr std::string_view kAddons = "/apis/addon.open-cluster-management.io/v1alpha1";
    const auto make = [&](const std::string& path, Json object) {
      object["apiVersion"] = "addon.open-cluster-management.io/v1alpha1";
      const auto answer = fleet.hub().create(std::string(kAddons) + path, object);
      EXPECT_EQ(answer.status, 201) << answer.body;
    };
    make("/addontemplates", {{"kind", "AddOnTemplate"},
                             {"metadata", {{"name", "hello-v1"}}},
                             {"spec",
                              {{"addonName", "hello"},
                               {"agentSpec", {{"workload", {{"manifests", Json::array()}}}}},
                               {"registration", Json::array({{{"type", "KubeClient"}}})}}}});
    const Json supported{
        {"group", "addon.open-cluster-management.io"}, {"resource", "addontemplates"}, {"defaultConfig", {{"name", "hello-v1"}}}};
    make("/clustermanagementaddons", {{"kind", "ClusterManagementAddOn"},
                                      {"metadata", {{"name", "hello"}}},
                                      {"spec", {{"supportedConfigs", Json::array({supported})}}}});
    make("/namespaces/c1/managedclusteraddons",
         {{"kind", "ManagedClusterAddOn"}, {"metadata", {{"name", "hello"}, {"namespace", "c1"}}}, {"spec", Json::object()}});
  }
  // A ManifestWork made by fleetadm reaches the spoke, is reported as applied and available, and goes again.
  static void distribute(Fleet& fleet) {
    const std::string file = fleet.folder().write("manifest.yaml", kManifest);
    const Ran made = fleet.run({"work", "create", "w1", "-f", file, "--clusters", "c1", "--context", "hub"});
    ASSERT_EQ(made.code, 0) << made.both();
    const std::string path = "/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks/w1";
    EXPECT_TRUE(condition_becomes(fleet.hub(), path, "Applied", "True"));
    EXPECT_TRUE(condition_becomes(fleet.hub(), path, "Available", "True"));
    EXPECT_EQ(str(fleet.spoke(1).get("/api/v1/namespaces/default/configmaps/from-hub"), {"data", "key"}), "value");
    const Ran gone = fleet.run({"work", "delete", "w1", "--clusters", "c1", "--wait", "--context", "hub"});
    EXPECT_EQ(gone.code, 0) << gone.both();
    EXPECT_TRUE(fleet.spoke(1).get("/api/v1/namespaces/default/configmaps/from-hub").is_null());
  }
};

TEST_F(Interop, UpstreamsAgentsAndCommandLineOnOurHub) {
  auto started = Fleet::start(1);
  ASSERT_TRUE(started) << started.error().message;
  Fleet& fleet = **started;
  const Ran init = fleet.run({"init", "--context", "hub", "--wait", "-o", "json"});
  ASSERT_EQ(init.code, 0) << init.both();
  for (const char* ns : {"open-cluster-management-agent", "open-cluster-management-agent-addon"}) {
    fleet.spoke(1).create("/api/v1/namespaces", {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ns}}}});
  }
  for (const char* crd : {"appliedmanifestworks", "clusterclaims"}) {
    std::string text = read_file(source_folder() + "/templates/crds/spoke/" + crd + ".yaml");
    const auto parsed = parse_yaml(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    ASSERT_EQ(fleet.spoke(1).create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", *parsed).status, 201);
  }
  Peers peers(fleet.folder());
  const std::string bootstrap = fleet.hub().kubeconfig_with_token(str(init.json(), {"hub-token"}));
  ASSERT_TRUE(peers.start_registration_agent(fleet.spoke(1), "c1", bootstrap));
  const std::string path = std::string(kManagedClusters) + "/c1";
  ASSERT_TRUE(eventually([&] { return !fleet.hub().get(path).is_null(); }, std::chrono::seconds(60)))
      << peers.log("c1-registration-agent");

  const Ran listed = clusteradm(fleet, fleet.hub(), {"get", "clusters", "-o", "table"});
  EXPECT_EQ(listed.code, 0) << listed.both();
  EXPECT_NE(listed.out.find("c1"), std::string::npos) << listed.both();
  ASSERT_TRUE(eventually([&] {
    const Json list = fleet.hub().get("/apis/certificates.k8s.io/v1/certificatesigningrequests");
    return !list_at(list, {"items"}).empty();
  })) << peers.log("c1-registration-agent");
  const Ran accepted = clusteradm(fleet, fleet.hub(), {"accept", "--clusters", "c1", "--wait", "--timeout", "60"});
  ASSERT_EQ(accepted.code, 0) << accepted.both();
  EXPECT_TRUE(condition_becomes(fleet.hub(), path, "ManagedClusterJoined", "True")) << peers.log("c1-registration-agent");
  EXPECT_TRUE(condition_becomes(fleet.hub(), path, "ManagedClusterConditionAvailable", "True"))
      << peers.log("c1-registration-agent");
  ASSERT_TRUE(eventually([&] { return peers.has_hub_kubeconfig("c1"); }));
  ASSERT_TRUE(peers.start_work_agent(fleet.spoke(1), "c1"));
  distribute(fleet);
  if (HasFailure()) GTEST_LOG_(INFO) << peers.log("c1-work-agent");

  // Their agent obtains the credential of an add-on by a request that our hub approves.
  enable_addon(fleet);
  const std::string addon = "/apis/addon.open-cluster-management.io/v1alpha1/namespaces/c1/managedclusteraddons/hello";
  EXPECT_TRUE(condition_becomes(fleet.hub(), addon, "RegistrationApplied", "True")) << fleet.hub().get(addon);
  EXPECT_TRUE(condition_becomes(fleet.hub(), addon, "ClusterCertificateRotated", "True"))
      << fleet.hub().get(addon) << peers.log("c1-registration-agent");
  const std::string secret = "/api/v1/namespaces/open-cluster-management-agent-addon/secrets/hello-hub-kubeconfig";
  EXPECT_FALSE(str(fleet.spoke(1).get(secret), {"data", "tls.crt"}).empty()) << peers.log("c1-registration-agent");

  // By token, once that is how their agent lets add-ons authenticate and the hub has the right to give tokens.
  const Json may_give{{"apiGroups", Json::array({""})}, {"resources", {"serviceaccounts/token"}}, {"verbs", {"create"}}};
  const Json role{{"apiVersion", "rbac.authorization.k8s.io/v1"},
                  {"kind", "ClusterRole"},
                  {"metadata", {{"name", "tokens"}, {"labels", {{"open-cluster-management.io/aggregate-to-addon-hub", "true"}}}}},
                  {"rules", Json::array({may_give})}};
  ASSERT_EQ(fleet.hub().create("/apis/rbac.authorization.k8s.io/v1/clusterroles", role).status, 201);
  ASSERT_TRUE(peers.start_registration_agent(fleet.spoke(1), "c1", bootstrap, "token"));
  EXPECT_TRUE(condition_becomes(fleet.hub(), addon, "TokenInfrastructureReady", "True"))
      << fleet.hub().get(addon) << peers.log("c1-registration-agent");
  EXPECT_TRUE(eventually(
      [&] {
        return !str(fleet.spoke(1).get(secret), {"data", "token"}).empty();
      },
      std::chrono::seconds(60)))
      << fleet.hub().get(addon) << peers.log("c1-registration-agent");
}

TEST_F(Interop, OurAgentOnUpstreamsHub) {
  auto started = Fleet::start(1);
  ASSERT_TRUE(started) << started.error().message;
  Fleet& fleet = **started;
  // The hub's types, bootstrap identity and admission by fleetadm, its controllers by upstream.
  const Ran init = fleet.run({"init", "--context", "hub", "--image", "example.invalid/not-run:1", "-o", "json"});
  ASSERT_EQ(init.code, 0) << init.both();
  ASSERT_EQ(fleet.hub().request("DELETE", "/apis/apps/v1/namespaces/open-cluster-management-hub/deployments/fleetadm-hub").status,
            200);
  Peers peers(fleet.folder());
  ASSERT_TRUE(peers.start_hub(fleet.hub()));
  const Json ticket = init.json();
  const Ran join =
      fleet.run({"join", "--context", "c1", "--cluster-name", "c1", "--hub-apiserver", str(ticket, {"hub-apiserver"}),
                 "--hub-token", str(ticket, {"hub-token"}), "--ca-cert-hash", str(ticket, {"ca-cert-hash"}), "--wait"});
  ASSERT_EQ(join.code, 0) << join.both();
  const Ran accept = fleet.run({"accept", "c1", "--context", "hub", "--yes", "--wait=available"});
  ASSERT_EQ(accept.code, 0) << accept.both() << peers.log("upstream-registration");
  distribute(fleet);

  // Their scheduler selects our cluster.
  ASSERT_EQ(fleet.run({"clusterset", "create", "prod", "--context", "hub"}).code, 0);
  ASSERT_EQ(fleet.run({"clusterset", "set", "prod", "--clusters", "c1", "--context", "hub"}).code, 0);
  ASSERT_EQ(fleet.run({"clusterset", "bind", "prod", "-n", "default", "--context", "hub"}).code, 0);
  const Ran placed = fleet.run({"placement", "create", "p", "-n", "default", "--clusterset", "prod", "--context", "hub"});
  ASSERT_EQ(placed.code, 0) << placed.both();
  EXPECT_TRUE(condition_becomes(fleet.hub(), "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/default/placements/p",
                                "PlacementSatisfied", "True"))
      << peers.log("upstream-placement");
}

}  // namespace
}  // namespace fleetadm::testkit
