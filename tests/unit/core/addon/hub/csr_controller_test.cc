// Approval and signing of add-ons' requests on a hub in memory.
#include "core/addon/hub/csr_controller.h"

#include <gtest/gtest.h>

#include "core/addon/rules/agent_identity.h"
#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"
#include "tests/support/fake_api.h"

namespace fleetadm::addon {
namespace {

using testkit::FakeApi;
namespace res = kube::resources;

class AnsweringRequests : public ::testing::Test {
 protected:
  AnsweringRequests() {
    objects->put({{"apiVersion", "cluster.open-cluster-management.io/v1"},
                  {"kind", "ManagedCluster"},
                  {"metadata", {{"name", "c1"}}},
                  {"spec", {{"hubAcceptsClient", true}}}});
    Json reference{{"group", "addon.open-cluster-management.io"},
                   {"resource", "addontemplates"},
                   {"desiredConfig", {{"name", "t1"}, {"specHash", "h"}}}};
    objects->put({{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
                  {"kind", "ManagedClusterAddOn"},
                  {"metadata", {{"name", "hello"}, {"namespace", "c1"}}},
                  {"status", {{"configReferences", Json::array({std::move(reference)})}}}});
    const Json signer{{"signerName", "example.com/signer"}, {"signingCA", {{"name", "ca"}}}};
    objects->put(
        {{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
         {"kind", "AddOnTemplate"},
         {"metadata", {{"name", "t1"}}},
         {"spec",
          {{"registration", Json::array({{{"type", "KubeClient"}}, {{"type", "CustomSigner"}, {"customSigner", signer}}})}}}});
    hub->put(res::secrets(), {{"apiVersion", "v1"},
                              {"kind", "Secret"},
                              {"metadata", {{"name", "ca"}, {"namespace", "hub-ns"}}},
                              {"data", {{"tls.crt", base64_encode(ca.certificate)}, {"tls.key", base64_encode(ca.key)}}}});
    cache->start();
    EXPECT_TRUE(cache->wait_synced(std::chrono::seconds(10)));
  }
  ~AnsweringRequests() override { cache->stop(); }

  void ask(const char* name, const char* signer, const char* requester = "system:open-cluster-management:c1:agent1") {
    const pki::Subject subject{
        agent_user("c1", "hello", "hello-agent"), {cluster_addon_group("c1", "hello"), addon_group("hello")}, {}};
    const std::string pem = pki::make_csr(pki::generate_key().value(), subject).value();
    put({{"apiVersion", "certificates.k8s.io/v1"},
         {"kind", "CertificateSigningRequest"},
         {"metadata",
          {{"name", name},
           {"labels", {{std::string(api::kClusterNameLabel), "c1"}, {std::string(api::kAddonNameLabel), "hello"}}}}},
         {"spec",
          {{"request", base64_encode(pem)},
           {"signerName", signer},
           {"username", requester},
           {"usages", Json::array({"client auth", "digital signature", "key encipherment"})}}}});
  }
  void put(const Json& csr) { seen(name_of(csr), resource_version_of(hub->put(res::certificate_signing_requests(), csr))); }
  /// The cache has the object in this version.
  void seen(const std::string& name, const std::string& version) {
    for (int look = 0; look < 2000; ++look) {
      const auto cached = cache->get(name);
      if (cached && cached->resource_version() == version) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    FAIL() << "the cache does not follow";
  }
  Json now(const char* name) const { return hub->get(res::certificate_signing_requests(), {}, name).value(); }
  Result<controller::Outcome> look(const char* name) {
    const auto outcome = controller->reconcile(name, {});
    seen(name, resource_version_of(now(name)));
    return outcome;
  }

  std::shared_ptr<FakeApi> hub = FakeApi::make();
  pki::KeyPair ca = pki::make_ca("signer", std::chrono::hours(48)).value();
  std::shared_ptr<MemoryObjects> objects = std::make_shared<MemoryObjects>();
  std::shared_ptr<kube::Informer> cache = kube::Informer::make(hub->client(), res::certificate_signing_requests());
  std::shared_ptr<AddonCsrController> controller =
      std::make_shared<AddonCsrController>(hub->client(), cache, objects, "hub-ns", Clock::system(), nullptr);
};

TEST_F(AnsweringRequests, ApprovesWhatKubernetesSigns) {
  ask("addon-c1-hello-a", "kubernetes.io/kube-apiserver-client");
  ASSERT_TRUE(look("addon-c1-hello-a"));
  const Json approved = now("addon-c1-hello-a");
  ASSERT_EQ(list_at(approved, {"status", "conditions"}).size(), 1u);
  EXPECT_EQ(str(approved["status"]["conditions"][0], {"message"}), "Auto approving addon agent certificate.");
  hub->forget_calls();
  ASSERT_TRUE(look("addon-c1-hello-a"));
  EXPECT_EQ(hub->write_count(), 0);
}

TEST_F(AnsweringRequests, SignsForACustomSigner) {
  ask("addon-c1-hello-a", "example.com/signer");
  ASSERT_TRUE(look("addon-c1-hello-a"));
  ASSERT_TRUE(look("addon-c1-hello-a"));
  const auto chain = pki::parse_certificates(base64_decode(str(now("addon-c1-hello-a"), {"status", "certificate"})).value());
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->front().issuer.common_name, "signer");
  hub->forget_calls();
  ASSERT_TRUE(look("addon-c1-hello-a"));
  EXPECT_EQ(hub->write_count(), 0);
}

TEST_F(AnsweringRequests, SignsNothingHostileEvenWhereSomebodyApprovedIt) {
  ask("addon-c1-hello-a", "example.com/signer", "system:open-cluster-management:c10:agent1");
  Json approved = now("addon-c1-hello-a");
  approved["status"]["conditions"] = Json::array({{{"type", "Approved"}, {"status", "True"}}});
  put(approved);
  ASSERT_TRUE(look("addon-c1-hello-a"));
  EXPECT_EQ(str(now("addon-c1-hello-a"), {"status", "certificate"}), "");
  EXPECT_EQ(hub->write_count(), 0);
}

TEST_F(AnsweringRequests, LeavesWhatIsRefusedAndDeniesNothing) {
  ask("addon-c1-hello-a", "kubernetes.io/kube-apiserver-client", "system:open-cluster-management:c10:agent1");
  const auto outcome = look("addon-c1-hello-a");
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->requeue_after);
  EXPECT_EQ(hub->write_count(), 0);
}

TEST_F(AnsweringRequests, AMissingCaIsAnErrorThatIsTriedAgain) {
  hub->erase(res::secrets(), "hub-ns", "ca");
  ask("addon-c1-hello-a", "example.com/signer");
  ASSERT_TRUE(look("addon-c1-hello-a"));
  const auto failed = look("addon-c1-hello-a");
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("hub-ns/ca"), std::string::npos);
}

}  // namespace
}  // namespace fleetadm::addon
