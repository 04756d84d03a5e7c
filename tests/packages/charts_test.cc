// The Helm charts make what `init` and `join` make: object by object, on API servers of the sandbox.
#include <gtest/gtest.h>
#include <map>

#include "kubeclient/base/encoding.h"
#include "tests/packages/shell.h"
#include "tests/support/equipment.h"
#include "tests/support/fleet.h"

namespace fleetadm::packages_suite {
namespace {

using testkit::Fleet;
using testkit::KubeServer;
using testkit::Ran;

constexpr const char* kRbac = "/apis/rbac.authorization.k8s.io/v1";
constexpr const char* kAdmission = "/apis/admissionregistration.k8s.io/v1";

/// All objects that carry the part's label, by kind, namespace and name, without what a server or Helm adds.
std::map<std::string, Json> installed(const KubeServer& server, const std::string& part) {
  std::map<std::string, Json> objects;
  for (const std::string& list :
       {std::string("/api/v1/namespaces"), std::string("/api/v1/serviceaccounts"), std::string("/api/v1/secrets"),
        std::string("/api/v1/configmaps"), std::string("/api/v1/services"), std::string("/apis/apps/v1/deployments"),
        kRbac + std::string("/clusterroles"), kRbac + std::string("/clusterrolebindings"), kRbac + std::string("/roles"),
        kRbac + std::string("/rolebindings"), std::string("/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
        kAdmission + std::string("/validatingadmissionpolicies"), kAdmission + std::string("/validatingadmissionpolicybindings"),
        std::string("/apis/networking.k8s.io/v1/networkpolicies"), std::string("/apis/policy/v1/poddisruptionbudgets")}) {
    const Json answer = server.get(list + "?labelSelector=fleetadm.io%2Fpart%3D" + part);
    for (Json object : list_at(answer, {"items"})) {
      Json metadata = Json::object();
      for (const char* field : {"name", "namespace", "labels", "annotations"}) {
        if (const Json* value = find(object, {"metadata", field})) metadata[field] = *value;
      }
      if (metadata.contains("labels")) metadata["labels"].erase("app.kubernetes.io/managed-by");
      if (metadata.contains("annotations")) {
        metadata["annotations"].erase("meta.helm.sh/release-name");
        metadata["annotations"].erase("meta.helm.sh/release-namespace");
        metadata["annotations"].erase("deployment.kubernetes.io/revision");  // by the controller of Deployments, some time later
        if (metadata["annotations"].empty()) metadata.erase("annotations");
      }
      object["metadata"] = metadata;
      object.erase("status");
      if (object.contains("spec")) {
        object["spec"].erase("clusterIP");
        object["spec"].erase("clusterIPs");
      }
      objects[list + " " + str(metadata, {"namespace"}) + "/" + str(metadata, {"name"})] = object;
    }
  }
  return objects;
}

void expect_same(const std::map<std::string, Json>& by_command, const std::map<std::string, Json>& by_chart) {
  for (const auto& [name, object] : by_command) {
    const auto other = by_chart.find(name);
    if (other == by_chart.end()) {
      ADD_FAILURE() << "not in the chart: " << name;
    } else {
      EXPECT_EQ(Json::diff(object, other->second).dump(), "[]") << name;
    }
  }
  for (const auto& [name, object] : by_chart) EXPECT_TRUE(by_command.contains(name)) << "only in the chart: " << name;
}

class ChartsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<testkit::TemporaryFolder>("charts");
    auto programs = testkit::equipment("FLEETADM_HELM_BIN", "tests/packages/build.sh", {"helm"}, "");
    if (programs) helm_ = *programs + "/helm";
    made_ = shell(*folder_, script("packaging/charts") + " .");
  }
  static void TearDownTestSuite() { folder_.reset(); }

  void SetUp() override {
    if (helm_.empty()) {
      ASSERT_FALSE(testkit::in_ci()) << "helm could not be built: run tests/packages/build.sh";
      GTEST_SKIP() << "helm could not be built: run tests/packages/build.sh";
    }
    ASSERT_EQ(made_.code, 0) << made_.both();
  }

  static Ran helm(const std::string& words) {
    return shell(*folder_, "export HOME=\"$PWD\" HELM_NO_PLUGINS=1\nexec '" + helm_ + "' " + words);
  }
  /// Sandbox servers without controllers: what is installed stays as it is.
  static std::unique_ptr<Fleet> servers(int spokes) {
    testkit::KubeServerOptions options;
    options.embedded = true;
    options.controller_manager = false;
    auto fleet = Fleet::start(spokes, false, options, options);
    EXPECT_TRUE(fleet) << fleet.error().message;
    return fleet ? std::move(*fleet) : nullptr;
  }
  static void install(const KubeServer& server, const std::string& words) {
    const Ran ran = helm("install fleet " + words + " --namespace kube-system --kubeconfig '" + server.kubeconfig_file() + "'");
    ASSERT_EQ(ran.code, 0) << ran.both();
  }

  static inline std::unique_ptr<testkit::TemporaryFolder> folder_;
  static inline std::string helm_;
  static inline Ran made_;
};

TEST_F(ChartsTest, AreCleanByHelmsOwnCheck) {
  for (const char* words : {"fleetadm-hub", "fleetadm-agent --set clusterName=c1", "fleetadm-hosted-agents"}) {
    const Ran ran = helm(std::string("lint --strict ") + words);
    EXPECT_EQ(ran.code, 0) << ran.both();
  }
  for (const char* name : {"fleetadm-hub --include-crds", "fleetadm-hosted-agents"}) {
    const Ran ran = helm(std::string("template x ") + name + " --kube-version 1.35.0");
    EXPECT_EQ(ran.code, 0) << ran.both();
  }
}

TEST_F(ChartsTest, RefuseValuesThatTheCommandsWouldRefuse) {
  for (const char* words :
       {"fleetadm-hub --set replicas=0", "fleetadm-hub --set image=", "fleetadm-hub --set imagePullPolicy=Sometimes",
        "fleetadm-hub --set hubArgs={run}", "fleetadm-hub --set gateway.address=host", "fleetadm-hub --set unknown=1",
        "fleetadm-hub --set httpsProxy=proxy:3128", "fleetadm-hub --set priorityClassName=High",
        "fleetadm-hub --set nodeSelector.pool=1", "fleetadm-hub --set tolerations[0].effect=Never", "fleetadm-agent",
        "fleetadm-agent --set clusterName=C1", "fleetadm-agent --set clusterName=c1,agentArgs={--bootstrap-secret=other}",
        "fleetadm-hosted-agents --set namespace=", "fleetadm-hosted-agents --set namespace=a.b",
        "fleetadm-hosted-agents --set clusterName=c1"}) {
    const Ran ran = helm(std::string("template x ") + words);
    EXPECT_NE(ran.code, 0) << words;
    EXPECT_NE(ran.err.find("schema"), std::string::npos) << words << ": " << ran.err;
  }
}

TEST_F(ChartsTest, TheHubIsWhatInitMakes) {
  const auto fleet = servers(1);
  ASSERT_TRUE(fleet);
  const Ran init = fleet->run({"init", "--context", "hub", "--publish-ca=false"});
  ASSERT_EQ(init.code, 0) << init.both();
  ASSERT_NO_FATAL_FAILURE(install(fleet->spoke(1), "fleetadm-hub"));
  const auto by_command = installed(fleet->hub(), "hub");
  EXPECT_GT(by_command.size(), 30U);
  expect_same(by_command, installed(fleet->spoke(1), "hub"));
  const Ran token = fleet->run({"get", "token", "--context", "c1", "-o", "jsonpath={.hub-token}"});
  EXPECT_EQ(token.code, 0) << token.both();
}

TEST_F(ChartsTest, TheHubWithAllOptionsIsWhatInitMakes) {
  const auto fleet = servers(1);
  ASSERT_TRUE(fleet);
  const Ran init = fleet->run({"init",
                               "--context",
                               "hub",
                               "--publish-ca=false",
                               "--image",
                               "registry.example.com/fleetadm:v1",
                               "--image-pull-policy",
                               "Always",
                               "--image-pull-secret",
                               "login",
                               "--replicas",
                               "3",
                               "--auto-approve-user",
                               "carol",
                               "--hub-arg",
                               "--workers=4",
                               "--require-executor",
                               "--network-policy",
                               "--cluster-profiles",
                               "--push",
                               "--failure-hold",
                               "45s",
                               "--give-up-after",
                               "90m",
                               "--gateway",
                               "--gateway-address",
                               "gateway.example.com:443",
                               "--gateway-replicas",
                               "2",
                               "--node-selector",
                               "pool=infra",
                               "--tolerate",
                               "dedicated=hub:NoSchedule",
                               "--priority-class",
                               "important",
                               "--https-proxy",
                               "http://egress.example.com:8080",
                               "--no-proxy",
                               "hub.example.com,.corp"});
  ASSERT_EQ(init.code, 0) << init.both();
  ASSERT_NO_FATAL_FAILURE(
      install(fleet->spoke(1),
              "fleetadm-hub --set image=registry.example.com/fleetadm:v1,imagePullPolicy=Always,replicas=3 "
              "--set imagePullSecrets={login},autoApproveUsers={carol},hubArgs={--workers=4} "
              "--set requireExecutor=true,networkPolicy=true,clusterProfiles=true,gateway.enabled=true,gateway.replicas=2 "
              "--set push=true,pushHealth.failureHold=45s,pushHealth.giveUpAfter=1h30m0s "
              "--set gateway.address=gateway.example.com:443,gateway.tunnelAddress=gateway.example.com:8444 "
              "--set nodeSelector.pool=infra,priorityClassName=important,httpsProxy=http://egress.example.com:8080 "
              "--set 'noProxy=hub.example.com\\,.corp,tolerations[0].key=dedicated,tolerations[0].operator=Equal' "
              "--set 'tolerations[0].value=hub,tolerations[0].effect=NoSchedule'"));
  expect_same(installed(fleet->hub(), "hub"), installed(fleet->spoke(1), "hub"));
}

TEST_F(ChartsTest, TheAgentIsWhatJoinMakes) {
  const auto fleet = servers(2);
  ASSERT_TRUE(fleet);
  const Ran init = fleet->run({"init", "--context", "hub", "-o", "json"});
  ASSERT_EQ(init.code, 0) << init.both();
  const std::string token = str(init.json(), {"hub-token"});
  ASSERT_FALSE(token.empty()) << init.both();
  testkit::RunOptions with_token;
  with_token.input = token;
  const std::string ca = folder_->write("hub.crt", fleet->hub().ca().certificate);
  const Ran join = fleet->run({"join",
                               "--context",
                               "c1",
                               "--cluster-name",
                               "c1",
                               "--hub-apiserver",
                               fleet->hub().url(),
                               "--ca-file",
                               ca,
                               "--hub-token-file",
                               "-",
                               "--network-policy",
                               "--agent-arg",
                               "--raw-feedback",
                               "--agent-arg",
                               "--agent-id=edge1",
                               "--report-figures",
                               "--tolerate",
                               "edge",
                               "--http-proxy",
                               "http://egress.example.com:8080"},
                              with_token);
  ASSERT_EQ(join.code, 0) << join.both();
  const Json secret = fleet->spoke(1).get("/api/v1/namespaces/open-cluster-management-agent/secrets/bootstrap-hub-kubeconfig");
  folder_->write("bootstrap.yaml", *base64_decode(str(secret, {"data", "kubeconfig"})));
  ASSERT_NO_FATAL_FAILURE(install(
      fleet->spoke(2),
      "fleetadm-agent --set clusterName=c1,networkPolicy=true,reportFigures=true,agentArgs={--raw-feedback,--agent-id=edge1} "
      "--set 'tolerations[0].key=edge,tolerations[0].operator=Exists' "
      "--set httpProxy=http://egress.example.com:8080 "
      "--set-file bootstrapKubeconfig=bootstrap.yaml"));
  const auto by_command = installed(fleet->spoke(1), "agent");
  EXPECT_GT(by_command.size(), 10U);
  expect_same(by_command, installed(fleet->spoke(2), "agent"));
}

TEST_F(ChartsTest, TheHostedAgentsAreWhatJoinMakes) {
  const auto fleet = servers(3);  // a member, and two clusters that could host it
  ASSERT_TRUE(fleet);
  const Ran init = fleet->run({"init", "--context", "hub", "-o", "json"});
  ASSERT_EQ(init.code, 0) << init.both();
  const std::string token = folder_->write("hub.token", str(init.json(), {"hub-token"}));
  const std::string ca = folder_->write("hosted-hub.crt", fleet->hub().ca().certificate);
  const auto member = [&](const char* command, const char* hosting, std::vector<std::string> more) {
    std::vector<std::string> args{
        command, "--mode", "hosted", "--context", hosting, "--cluster-name", "m1", "--managed-cluster-context", "c1"};
    args.insert(args.end(), more.begin(), more.end());
    return fleet->run(args);
  };
  const std::vector<std::string> to_hub{"--hub-apiserver", fleet->hub().url(), "--ca-file", ca, "--hub-token-file", token};
  const auto and_more = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = to_hub;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const Ran join = member("join", "c2",
                          and_more({"--network-policy", "--image", "registry.example.com/fleetadm:v1", "--node-selector",
                                    "pool=infra", "--https-proxy", "http://egress.example.com:8080"}));
  ASSERT_EQ(join.code, 0) << join.both();
  const auto by_command = [&](int hosting) {
    auto objects = installed(fleet->spoke(hosting), "hosted-agents");
    std::erase_if(objects, [](const auto& entry) { return !label_of(entry.second, "fleetadm.io/hosted-cluster").empty(); });
    return objects;
  };
  const auto joined = by_command(2);
  EXPECT_EQ(joined.size(), 6U);
  const std::string values =
      "fleetadm-hosted-agents --set networkPolicy=true,image=registry.example.com/fleetadm:v1 "
      "--set nodeSelector.pool=infra,httpsProxy=http://egress.example.com:8080";
  ASSERT_NO_FATAL_FAILURE(install(fleet->spoke(3), values));
  expect_same(joined, by_command(3));

  // Members come and go in what the chart has made, which stays.
  ASSERT_EQ(member("unjoin", "c2", {"--yes"}).code, 0);
  EXPECT_TRUE(installed(fleet->spoke(2), "hosted-agents").empty()) << "what join has made goes with the last member";
  const Ran in_chart = member("join", "c3", to_hub);
  ASSERT_EQ(in_chart.code, 0) << in_chart.both();
  expect_same(joined, by_command(3));
  const Ran left = member("unjoin", "c3", {"--yes"});
  ASSERT_EQ(left.code, 0) << left.both();
  EXPECT_NE(left.both().find("Helm release \"fleet\""), std::string::npos) << left.both();
  expect_same(joined, installed(fleet->spoke(3), "hosted-agents"));
}

}  // namespace
}  // namespace fleetadm::packages_suite
