// The agent of an add-on gets an identity on the hub of its own, with its own rights there: by certificate, and by token.
#include <algorithm>
#include <gtest/gtest.h>

#include "kubeclient/base/encoding.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/pki/pki.h"
#include "kubeclient/rest/client.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kAddons = "/apis/addon.open-cluster-management.io/v1alpha1";
constexpr std::string_view kAddon = "/apis/addon.open-cluster-management.io/v1alpha1/namespaces/c1/managedclusteraddons/hello";
constexpr std::string_view kSecret = "/api/v1/namespaces/open-cluster-management-agent-addon/secrets/hello-hub-kubeconfig";
constexpr std::string_view kSignedSecret =
    "/api/v1/namespaces/open-cluster-management-agent-addon/secrets/hello-open-cluster-management.io-hello-client-cert";
constexpr std::string_view kAgent = "/apis/apps/v1/namespaces/open-cluster-management-agent/deployments/fleetadm-agent";
constexpr std::string_view kAgentPods =
    "/api/v1/namespaces/open-cluster-management-agent/pods?labelSelector=app%3Dfleetadm-agent";
constexpr std::string_view kRoles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

Json labelled_role(const std::string& name, Json rule) {
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "ClusterRole"},
          {"metadata", {{"name", name}, {"labels", {{"open-cluster-management.io/aggregate-to-addon-hub", "true"}}}}},
          {"rules", Json::array({std::move(rule)})}};
}

class AddonRegistration : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, true));
    const Ran init = fleet()->run({"init", "--context", "hub", "--wait", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    auto args = join_args(init.json());
    args.insert(args.end(), {"--wait"});
    const Ran join = fleet()->run(args);
    ASSERT_EQ(join.code, 0) << join.both();
    const Ran accept = fleet()->run({"accept", "--context", "hub", "c1", "--wait=available", "--yes"});
    ASSERT_EQ(accept.code, 0) << accept.both();
    declare();
  }

  static void declare() {
    const auto made = [](std::string_view path, const Json& object) {
      const auto answer = fleet()->hub().create(path, object);
      ASSERT_EQ(answer.status, 201) << answer.body;
    };
    made(kRoles, labelled_role("hello-agent", {{"apiGroups", Json::array({""})},
                                               {"resources", Json::array({"configmaps"})},
                                               {"verbs", Json::array({"get", "list"})}}));
    made(kRoles, labelled_role("hello-tokens", {{"apiGroups", Json::array({""})},
                                                {"resources", Json::array({"serviceaccounts/token"})},
                                                {"verbs", Json::array({"create"})}}));
    const pki::KeyPair ca = pki::make_ca("hello-ca", std::chrono::hours(24)).value();
    made("/api/v1/namespaces/open-cluster-management-hub/secrets",
         {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"type", "kubernetes.io/tls"},
          {"metadata", {{"name", "hello-ca"}, {"namespace", "open-cluster-management-hub"}}},
          {"data", {{"tls.crt", base64_encode(ca.certificate)}, {"tls.key", base64_encode(ca.key)}}}});
    const Json signer{{"signerName", "open-cluster-management.io/hello"}, {"signingCA", {{"name", "hello-ca"}}}};
    const Json permission{{"type", "CurrentCluster"}, {"currentCluster", {{"clusterRoleName", "hello-agent"}}}};
    made(std::string(kAddons) + "/addontemplates",
         {{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
          {"kind", "AddOnTemplate"},
          {"metadata", {{"name", "hello-v1"}}},
          {"spec",
           {{"addonName", "hello"},
            {"agentSpec", {{"workload", {{"manifests", Json::array()}}}}},
            {"registration",
             Json::array({{{"type", "KubeClient"}, {"kubeClient", {{"hubPermissions", Json::array({permission})}}}},
                          {{"type", "CustomSigner"}, {"customSigner", signer}}})}}}});
    const Json supported{
        {"group", "addon.open-cluster-management.io"}, {"resource", "addontemplates"}, {"defaultConfig", {{"name", "hello-v1"}}}};
    made(std::string(kAddons) + "/clustermanagementaddons", {{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
                                                             {"kind", "ClusterManagementAddOn"},
                                                             {"metadata", {{"name", "hello"}}},
                                                             {"spec", {{"supportedConfigs", Json::array({supported})}}}});
    made(std::string(kAddons) + "/namespaces/c1/managedclusteraddons",
         {{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
          {"kind", "ManagedClusterAddOn"},
          {"metadata", {{"name", "hello"}, {"namespace", "c1"}}},
          {"spec", Json::object()}});
  }

  static std::string stored(const char* key, std::string_view secret = kSecret) {
    return base64_decode(str(fleet()->spoke(1).get(secret), {"data", key})).value_or("");
  }
  /// The hub, with what is in the Secret, as a pod that mounts it would see it.
  static Result<kube::Client> as_agent() {
    const TemporaryFolder& folder = fleet()->folder();
    for (const char* key : {"tls.crt", "tls.key", "token"}) {
      if (const std::string text = stored(key); !text.empty()) folder.write(key, text);
    }
    kube::ConfigOverrides mounted;
    mounted.kubeconfig = folder.write("kubeconfig", stored("kubeconfig"));
    FLEETADM_TRY(const kube::RestConfig config, kube::load_rest_config(mounted));
    return kube::Client::connect(config);
  }
  static std::string user_of(const kube::Client& client) {
    const auto& reviews = kube::resources::self_subject_reviews();
    const auto self = client.post(reviews.path({}), {{"apiVersion", reviews.api_version()}, {"kind", reviews.kind}}, true);
    return self ? str(*self, {"status", "userInfo", "username"}) : self.error().message;
  }
  static void may_read_its_cluster_only(const kube::Client& client) {
    EXPECT_TRUE(eventually([&] { return client.list(kube::resources::config_maps(), "c1").has_value(); }));
    const auto elsewhere = client.list(kube::resources::config_maps(), "default");
    ASSERT_FALSE(elsewhere);
    EXPECT_EQ(elsewhere.error().code, 403) << elsewhere.error().message;
    EXPECT_FALSE(client.list(kube::resources::secrets(), "c1"));
  }
};

TEST_F(AddonRegistration, A_ByCertificateWithItsOwnRights) {
  ASSERT_TRUE(condition_becomes(fleet()->hub(), kAddon, "RegistrationApplied", "True")) << fleet()->hub().get(kAddon);
  ASSERT_TRUE(eventually([] { return !stored("tls.crt").empty(); }, std::chrono::seconds(60))) << fleet()->hub().get(kAddon);
  const auto client = as_agent();
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_EQ(user_of(*client), "system:open-cluster-management:cluster:c1:addon:hello:agent:hello-agent");
  may_read_its_cluster_only(*client);
  EXPECT_TRUE(condition_becomes(fleet()->hub(), kAddon, "ClusterCertificateRotated", "True"));
  EXPECT_EQ(str(fleet()->hub().get(kAddon), {"status", "kubeClientDriver"}), "csr");
}

TEST_F(AddonRegistration, B_WithACertificateOfItsOwnSigner) {
  ASSERT_TRUE(eventually([] { return !stored("tls.crt", kSignedSecret).empty(); }, std::chrono::seconds(60)))
      << fleet()->hub().get("/apis/certificates.k8s.io/v1/certificatesigningrequests");
  const auto chain = pki::parse_certificates(stored("tls.crt", kSignedSecret));
  ASSERT_TRUE(chain) << chain.error().message;
  EXPECT_EQ(chain->front().issuer.common_name, "hello-ca");
  EXPECT_EQ(chain->front().dns_names, std::vector<std::string>{"hello.addon.open-cluster-management.io"});
  EXPECT_TRUE(pki::key_matches(stored("tls.crt", kSignedSecret), stored("tls.key", kSignedSecret)));
}

/// An agent of the cluster's own may ask for anything; it gets what its add-ons have.
TEST_F(AddonRegistration, B_NoRequestForMoreIsApproved) {
  const pki::Subject more{"system:open-cluster-management:cluster:c1:addon:hello:agent:hello-agent",
                          {"system:open-cluster-management:cluster:c1:addon:hello", "system:open-cluster-management:addon:hello",
                           "system:open-cluster-management:managed-clusters"},
                          {}};
  const Json request{
      {"apiVersion", "certificates.k8s.io/v1"},
      {"kind", "CertificateSigningRequest"},
      {"metadata",
       {{"name", "addon-c1-hello-more"},
        {"labels", {{"open-cluster-management.io/cluster-name", "c1"}, {"open-cluster-management.io/addon-name", "hello"}}}}},
      {"spec",
       {{"request", base64_encode(pki::make_csr(pki::generate_key().value(), more).value())},
        {"signerName", "kubernetes.io/kube-apiserver-client"},
        {"usages", Json::array({"digital signature", "key encipherment", "client auth"})}}}};
  const auto made = fleet()->hub().create("/apis/certificates.k8s.io/v1/certificatesigningrequests", request);
  ASSERT_EQ(made.status, 201) << made.body;
  // The hub tells that it leaves it.
  EXPECT_TRUE(fleet()->hub().eventually("/apis/events.k8s.io/v1/namespaces/default/events", [](const Json& events) {
    const Json& items = list_at(events, {"items"});
    return std::any_of(items.begin(), items.end(), [](const Json& event) {
      return str(event, {"reason"}) == "CertificateRequestNotApproved" &&
             str(event, {"regarding", "name"}) == "addon-c1-hello-more";
    });
  }));
  const Json left = fleet()->hub().get("/apis/certificates.k8s.io/v1/certificatesigningrequests/addon-c1-hello-more");
  EXPECT_TRUE(list_at(left, {"status", "conditions"}).empty()) << left;
}

TEST_F(AddonRegistration, C_ByTokenOnceTheAgentSaysSo) {
  const Json argument =
      Json::array({{{"op", "add"}, {"path", "/spec/template/spec/containers/0/args/-"}, {"value", "--addon-driver=token"}}});
  const auto patched = fleet()->spoke(1).request("PATCH", kAgent, dump_json(argument), "application/json-patch+json");
  ASSERT_EQ(patched.status, 200) << patched.body;
  ASSERT_TRUE(condition_becomes(fleet()->hub(), kAddon, "TokenInfrastructureReady", "True")) << fleet()->hub().get(kAddon);
  ASSERT_TRUE(eventually([] { return !stored("token").empty(); }, std::chrono::seconds(60))) << fleet()->hub().get(kAddon);
  // Until the agent that it replaces has ended, that one may put its certificate back, and the hub then makes the account anew.
  const auto replaced = [] { return list_at(fleet()->spoke(1).get(kAgentPods), {"items"}).size() == 1; };
  ASSERT_TRUE(eventually(replaced, std::chrono::seconds(60))) << fleet()->spoke(1).get(kAgentPods);
  const std::string expected = "system:serviceaccount:c1:hello-agent";
  const auto registered = [&] {
    const auto client = as_agent();
    return stored("tls.key").empty() && client && user_of(*client) == expected &&
           client->list(kube::resources::config_maps(), "c1").has_value();
  };
  ASSERT_TRUE(eventually(registered, std::chrono::seconds(60))) << fleet()->hub().get(kAddon);
  may_read_its_cluster_only(*as_agent());
}

TEST_F(AddonRegistration, D_NothingIsLeftOnceTheAddonIsGone) {
  const auto removed = fleet()->hub().request("DELETE", kAddon);
  ASSERT_LT(removed.status, 300) << removed.body;
  EXPECT_TRUE(
      eventually([] { return fleet()->spoke(1).get(kSecret).is_null() && fleet()->spoke(1).get(kSignedSecret).is_null(); },
                 std::chrono::seconds(60)));
  EXPECT_TRUE(eventually([] { return fleet()->hub().get("/api/v1/namespaces/c1/serviceaccounts/hello-agent").is_null(); },
                         std::chrono::seconds(60)));
}

}  // namespace
}  // namespace fleetadm::testkit
