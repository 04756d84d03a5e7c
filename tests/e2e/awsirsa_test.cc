// A cluster that registers with an identity of AWS: no certificate request, an agent that asks `aws eks get-token`, a hub that
// makes and removes the cluster's role. AWS is a stand-in, and so is the program aws, whose credential is one that the hub takes.
#include <filesystem>
#include <gtest/gtest.h>

#include "core/registration/aws/names.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"
#include "tests/support/aws_stand_in.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

namespace aws = registration::aws;

constexpr const char* kArnOfHub = "arn:aws:eks:us-west-2:123456789012:cluster/hub";
constexpr const char* kArnOfC1 = "arn:aws:eks:us-west-2:567890123456:cluster/spoke";
constexpr std::string_view kC1 = "/apis/cluster.open-cluster-management.io/v1/managedclusters/c1";
constexpr std::string_view kAgentCredential = "/api/v1/namespaces/open-cluster-management-agent/secrets/hub-kubeconfig-secret";

class AwsIrsa : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, false));
    aws_stand_in() = std::make_unique<AwsStandIn>();
    const Ran init = run({"init", "--context", "hub", "-o", "json", "--registration-drivers", "csr,awsirsa", "--hub-cluster-arn",
                          kArnOfHub, "--auto-approved-arn-patterns", "arn:aws:eks:us-west-2:567890123456:cluster/.*"});
    ASSERT_EQ(init.code, 0) << init.both();
    std::map<std::string, std::string> environment = aws_stand_in()->variables();
    start("hub-irsa", "/usr/bin:/bin", environment,
          {"hub", "run", "--kubeconfig", fleet()->hub().kubeconfig_file(), "--leader-elect=false",
           "--registration-drivers=csr,awsirsa", std::string("--hub-cluster-arn=") + kArnOfHub,
           "--auto-approved-arn-patterns=arn:aws:eks:us-west-2:567890123456:cluster/.*"});
    std::vector<std::string> join = join_args(init.json());
    join.insert(join.end(),
                {"--registration-auth", "awsirsa", "--hub-cluster-arn", kArnOfHub, "--managed-cluster-arn", kArnOfC1});
    const Ran joined = run(join);
    ASSERT_EQ(joined.code, 0) << joined.both();
    write_plugin();
    start("agent", (fleet()->folder().path() / "bin").string() + ":/usr/bin:/bin", {},
          {"agent", "run", "--kubeconfig", fleet()->spoke(1).kubeconfig_file(), "-n", "open-cluster-management-agent",
           "--cluster-name=c1", "--registration-auth=awsirsa", std::string("--hub-cluster-arn=") + kArnOfHub,
           std::string("--managed-cluster-arn=") + kArnOfC1});
  }
  static void TearDownTestSuite() {
    children().clear();
    FleetTest::TearDownTestSuite();
    aws_stand_in().reset();
  }

  static std::unique_ptr<AwsStandIn>& aws_stand_in() {
    static std::unique_ptr<AwsStandIn> stand_in;
    return stand_in;
  }
  static std::vector<sandbox::Child>& children() {
    static std::vector<sandbox::Child> all;
    return all;
  }
  static void start(const std::string& name, const std::string& path, const std::map<std::string, std::string>& more,
                    std::vector<std::string> args) {
    sandbox::ChildSpec spec;
    spec.program = Fleet::binary();
    spec.args = std::move(args);
    spec.environment = {"HOME=" + fleet()->folder().path().string(), "PATH=" + path};
    for (const auto& [key, value] : more) spec.environment.push_back(key + "=" + value);
    spec.output_file = log_of(name);
    auto child = sandbox::Child::start(spec);
    ASSERT_TRUE(child) << child.error().message;
    children().push_back(std::move(*child));
  }
  static std::string log_of(const std::string& name) { return (fleet()->folder().path() / (name + ".log")).string(); }

  /// `aws` on the agent's PATH. What the hub's own authenticator would make of the token is a client certificate of that user and
  /// group here.
  static void write_plugin() {
    pki::LeafOptions leaf;
    leaf.subject = {.common_name = "c1", .organizations = {"open-cluster-management:c1"}, .organizational_units = {}};
    leaf.client = true;
    const pki::KeyPair pair = pki::issue(fleet()->hub().ca(), leaf).value();
    const Json credential{{"apiVersion", "client.authentication.k8s.io/v1beta1"},
                          {"kind", "ExecCredential"},
                          {"status", {{"clientCertificateData", pair.certificate}, {"clientKeyData", pair.key}}}};
    const std::filesystem::path bin = fleet()->folder().path() / "bin";
    std::filesystem::create_directories(bin);
    const std::string answer = fleet()->folder().write("credential.json", dump_json(credential));
    const std::string asked = (fleet()->folder().path() / "asked").string();
    fleet()->folder().write("bin/aws", "#!/bin/sh\necho \"$@\" >> " + asked + "\nexec cat " + answer + "\n");
    std::filesystem::permissions(bin / "aws", std::filesystem::perms::owner_all);
  }
  static bool accepted() { return condition(fleet()->hub(), kC1, "HubAcceptedManagedCluster") == "True"; }
  static std::string suffix() { return aws::role_suffix(*aws::parse_eks_arn(kArnOfHub), *aws::parse_eks_arn(kArnOfC1)); }
};

TEST_F(AwsIrsa, A_RegistersWithoutACertificateAndWithoutAPerson) {
  ASSERT_TRUE(eventually(accepted, std::chrono::seconds(60))) << read_file(log_of("agent")) << read_file(log_of("hub-irsa"));
  const Json cluster = fleet()->hub().get(kC1);
  EXPECT_EQ(annotation_of(cluster, aws::kArnAnnotation), kArnOfC1);
  EXPECT_EQ(annotation_of(cluster, aws::kSuffixAnnotation), suffix());
  EXPECT_FALSE(annotation_of(cluster, "open-cluster-management.io/automatically-accepted-on").empty());
  EXPECT_EQ(aws_stand_in()->roles().count("ocm-hub-" + suffix()), 1U);
  const auto entries = aws_stand_in()->entries();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries.begin()->first, "arn:aws:iam::123456789012:role/ocm-hub-" + suffix());
  EXPECT_EQ(entries.begin()->second, (AwsStandIn::Entry{"c1", {"open-cluster-management:c1"}}));
  EXPECT_TRUE(aws_stand_in()->wrong_signatures().empty());
  EXPECT_TRUE(condition_becomes(fleet()->hub(), kC1, "ManagedClusterConditionAvailable", "True")) << read_file(log_of("agent"));
  EXPECT_TRUE(list_at(fleet()->hub().get("/apis/certificates.k8s.io/v1/certificatesigningrequests"), {"items"}).empty());
}

TEST_F(AwsIrsa, B_TheStoredKubeconfigAsksAws) {
  const Json secret = fleet()->spoke(1).get(kAgentCredential);
  EXPECT_TRUE(str(secret, {"data", "tls.crt"}).empty());
  const Json kubeconfig = parse_yaml(base64_decode(str(secret, {"data", "kubeconfig"})).value_or("")).value_or(Json());
  const Json& exec = object_at(list_at(kubeconfig, {"users"}).front(), {"user", "exec"});
  EXPECT_EQ(str(exec, {"command"}), "aws");
  const std::string asked = read_file((fleet()->folder().path() / "asked").string());
  EXPECT_EQ(asked.substr(0, asked.find('\n')),
            "--region us-west-2 eks get-token --cluster-name hub --output json --role "
            "arn:aws:iam::123456789012:role/ocm-hub-" +
                suffix());
}

TEST_F(AwsIrsa, C_WorksArrive) {
  const std::string file = fleet()->folder().write(
      "page.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: page, namespace: default}\ndata: {text: hello}\n");
  const Ran ran = run({"work", "apply", "page", "-f", file, "--clusters", "c1", "--wait=applied", "--context", "hub"});
  EXPECT_EQ(ran.code, 0) << ran.both();
  EXPECT_FALSE(fleet()->spoke(1).get("/api/v1/namespaces/default/configmaps/page").is_null());
  const Ran removed = run({"work", "delete", "page", "--clusters", "c1", "--context", "hub", "--allow-removals"});
  EXPECT_EQ(removed.code, 0) << removed.both();
}

TEST_F(AwsIrsa, D_ADeniedClusterLosesItsRoleAndIsNotAcceptedAgain) {
  const Ran deny = run({"cluster", "deny", "--context", "hub", "c1", "--allow-removals"});
  ASSERT_EQ(deny.code, 0) << deny.both();
  EXPECT_TRUE(
      eventually([] { return aws_stand_in()->entries().empty() && aws_stand_in()->roles().empty(); }, std::chrono::seconds(60)));
  EXPECT_TRUE(condition_becomes(fleet()->hub(), kC1, "HubAcceptedManagedCluster", "False"));
  EXPECT_FALSE(flag(fleet()->hub().get(kC1), {"spec", "hubAcceptsClient"}));
}

TEST_F(AwsIrsa, E_APersonAcceptsItAgainWithoutARequest) {
  const Ran accept = run({"accept", "c1", "--context", "hub", "--yes", "--wait=available", "-o", "json"});
  ASSERT_EQ(accept.code, 0) << accept.both() << read_file(log_of("agent"));
  EXPECT_EQ(str(list_at(accept.json(), {"items"}).front(), {"arn"}), kArnOfC1);
  EXPECT_TRUE(eventually([] { return aws_stand_in()->entries().size() == 1; }, std::chrono::seconds(60)));
  EXPECT_TRUE(eventually(accepted, std::chrono::seconds(60)));
}

TEST_F(AwsIrsa, F_JoinGivesTheAgentItsRole) {
  const Json account = fleet()->spoke(1).get("/api/v1/namespaces/open-cluster-management-agent/serviceaccounts/fleetadm-agent");
  EXPECT_EQ(annotation_of(account, aws::kRoleAnnotation), "arn:aws:iam::567890123456:role/ocm-managed-cluster-" + suffix());
  const Json controllers = fleet()->hub().get("/api/v1/namespaces/open-cluster-management-hub/serviceaccounts/fleetadm-hub");
  EXPECT_EQ(annotation_of(controllers, aws::kRoleAnnotation),
            "arn:aws:iam::123456789012:role/hub_managed-cluster-identity-creator");
}

/// EKS signs no certificates of its own clients, so that the signer is the add-on's.
TEST_F(AwsIrsa, G_AnAddOnGetsACertificateOfItsOwnSigner) {
  const std::string addons = "/apis/addon.open-cluster-management.io/v1alpha1";
  const auto make = [](const std::string& collection, Json object) {
    const auto made = fleet()->hub().create(collection, object);
    EXPECT_EQ(made.status, 201) << made.body;
  };
  const auto addon = [](const char* kind, Json metadata, Json spec) {
    return Json{{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
                {"kind", kind},
                {"metadata", std::move(metadata)},
                {"spec", std::move(spec)}};
  };
  const pki::KeyPair ca = pki::make_ca("hello-ca", std::chrono::hours(24)).value();
  make("/api/v1/namespaces/open-cluster-management-hub/secrets",
       {{"apiVersion", "v1"},
        {"kind", "Secret"},
        {"type", "kubernetes.io/tls"},
        {"metadata", {{"name", "hello-ca"}}},
        {"data", {{"tls.crt", base64_encode(ca.certificate)}, {"tls.key", base64_encode(ca.key)}}}});
  const Json signer{{"signerName", "open-cluster-management.io/hello"}, {"signingCA", {{"name", "hello-ca"}}}};
  make(addons + "/addontemplates",
       addon("AddOnTemplate", {{"name", "hello-v1"}},
             {{"addonName", "hello"},
              {"agentSpec", {{"workload", {{"manifests", Json::array()}}}}},
              {"registration", Json::array({{{"type", "CustomSigner"}, {"customSigner", signer}}})}}));
  const Json supported{
      {"group", "addon.open-cluster-management.io"}, {"resource", "addontemplates"}, {"defaultConfig", {{"name", "hello-v1"}}}};
  make(addons + "/clustermanagementaddons",
       addon("ClusterManagementAddOn", {{"name", "hello"}}, {{"supportedConfigs", Json::array({supported})}}));
  make(addons + "/namespaces/c1/managedclusteraddons", addon("ManagedClusterAddOn", {{"name", "hello"}}, Json::object()));
  const auto issued = [] {
    const Json secret = fleet()->spoke(1).get(
        "/api/v1/namespaces/open-cluster-management-agent-addon/secrets/hello-open-cluster-management.io-hello-client-cert");
    return pki::parse_certificates(base64_decode(str(secret, {"data", "tls.crt"})).value_or("")).has_value();
  };
  EXPECT_TRUE(eventually(issued, std::chrono::seconds(60)))
      << fleet()->hub().get(addons + "/namespaces/c1/managedclusteraddons/hello") << read_file(log_of("hub-irsa"));
  for (const Json& request : list_at(fleet()->hub().get("/apis/certificates.k8s.io/v1/certificatesigningrequests"), {"items"}))
    EXPECT_EQ(str(request, {"spec", "username"}), "c1");
}

}  // namespace
}  // namespace fleetadm::testkit
