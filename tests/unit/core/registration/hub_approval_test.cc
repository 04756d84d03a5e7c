// Certificate requests and whom they may accept, against a server in memory.
#include "core/registration/hub/csr_rules.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"
#include "tests/unit/core/registration/hub_fixture.h"

namespace fleetadm::registration::hub {
namespace {

using namespace std::chrono_literals;

class ApprovalTest : public HubControllersTest {
 public:
  const std::string agent = "system:open-cluster-management:c1:agent1";
  const std::string bootstrap = "system:serviceaccount:open-cluster-management:agent-registration-bootstrap";

  void put_csr(const std::string& requester, const std::string& common_name, const std::string& name = "csr1") {
    const auto key = pki::generate_key();
    const auto request = pki::make_csr(
        *key, {common_name, {"system:open-cluster-management:c1", "system:open-cluster-management:managed-clusters"}, {}});
    api->put(res::certificate_signing_requests(),
             {{"apiVersion", "certificates.k8s.io/v1"},
              {"kind", "CertificateSigningRequest"},
              {"metadata", {{"name", name}, {"labels", {{"open-cluster-management.io/cluster-name", "c1"}}}}},
              {"spec",
               {{"signerName", "kubernetes.io/kube-apiserver-client"},
                {"usages", {"digital signature", "key encipherment", "client auth"}},
                {"username", requester},
                {"groups", {"system:authenticated"}},
                {"request", base64_encode(*request)}}}});
  }
  bool approved(const std::string& name = "csr1") const {
    return csr_decided(*api->get(res::certificate_signing_requests(), {}, name));
  }
};

TEST_F(ApprovalTest, RenewalNeedsTheRequesterAndTheRight) {
  put_csr(agent, agent);
  HubLife hub(api, clock);
  Json asked;
  bool allowed = false;
  api->on_review([&](const Json& spec) {
    asked = spec;
    return allowed;
  });
  ASSERT_TRUE(hub.csr->reconcile("csr1", {}));
  EXPECT_FALSE(approved());
  EXPECT_EQ(str(asked, {"user"}), agent);
  EXPECT_EQ(str(asked, {"resourceAttributes", "verb"}), "renew");
  allowed = true;
  ASSERT_TRUE(hub.csr->reconcile("csr1", {}));
  EXPECT_TRUE(approved());
}

TEST_F(ApprovalTest, AnotherClusterOrAgentIsLeftToAPerson) {
  api->on_review([](const Json&) { return true; });
  int i = 0;
  for (const char* requester :
       {"system:open-cluster-management:c2:agent1", "system:open-cluster-management:c10:agent1",
        "system:open-cluster-management:c1:agent2", "system:open-cluster-management:c1:agent1:x", "kubernetes-admin", ""}) {
    const std::string name = "csr-" + std::to_string(i++);
    put_csr(requester, agent, name);
    HubLife hub(api, clock);
    ASSERT_TRUE(hub.csr->reconcile(name, {}));
    EXPECT_FALSE(approved(name)) << requester;
  }
}

TEST_F(ApprovalTest, TrustedRequestersAreOffByDefault) {
  put_csr(bootstrap, agent);
  HubLife careful(api, clock);
  ASSERT_TRUE(careful.csr->reconcile("csr1", {}));
  EXPECT_FALSE(approved());
  HubLife trusting(api, clock, -1, {bootstrap});
  ASSERT_TRUE(trusting.csr->reconcile("csr1", {}));
  EXPECT_TRUE(approved());
  put_csr(bootstrap, "system:open-cluster-management:c10:agent1", "csr2");
  trusting.refresh();
  ASSERT_TRUE(trusting.csr->reconcile("csr2", {}));
  EXPECT_FALSE(approved("csr2")) << "trust in the requester is no trust in the name";
}

TEST_F(ApprovalTest, AClusterOfATrustedUserIsAcceptedOnce) {
  put_csr(bootstrap, agent);
  put_cluster("c1", false);
  put_cluster("c2", false);
  HubLife hub(api, clock, -1, {bootstrap});
  ASSERT_TRUE(hub.settle());
  EXPECT_TRUE(approved());
  EXPECT_TRUE(flag(cluster("c1"), {"spec", "hubAcceptsClient"}));
  EXPECT_EQ(annotation_of(cluster("c1"), kAutoAcceptedAnnotation), "2026-01-01T00:00:00Z");
  EXPECT_EQ(hub_condition(cluster("c1"), "HubAcceptedManagedCluster"), "True");
  EXPECT_FALSE(flag(cluster("c2"), {"spec", "hubAcceptsClient"})) << "nobody trusted asked for it";
  accept("c1", false);
  ASSERT_TRUE(hub.settle());
  EXPECT_FALSE(flag(cluster("c1"), {"spec", "hubAcceptsClient"})) << "a denial stays";
}

TEST_F(ApprovalTest, ADenialAfterAPersonsAcceptanceStaysToo) {
  put_csr(bootstrap, agent);
  put_cluster("c1", true);
  HubLife careful(api, clock);
  ASSERT_TRUE(careful.settle());
  EXPECT_EQ(hub_condition(cluster("c1"), "HubAcceptedManagedCluster"), "True");
  HubLife trusting(api, clock, -1, {bootstrap});
  accept("c1", false);  // the condition still tells of the acceptance
  ASSERT_TRUE(trusting.settle());
  EXPECT_FALSE(flag(cluster("c1"), {"spec", "hubAcceptsClient"}));
  EXPECT_EQ(hub_condition(cluster("c1"), "HubAcceptedManagedCluster"), "False");
  ASSERT_TRUE(trusting.settle());
  EXPECT_FALSE(flag(cluster("c1"), {"spec", "hubAcceptsClient"}));
}

TEST_F(ApprovalTest, OnlyAWellFormedRequestOfATrustedUserAcceptsACluster) {
  put_cluster("c1", false);
  put_csr("system:bootstrap:abcdef", agent, "of-another");
  put_csr(bootstrap, "system:open-cluster-management:c10:agent1", "for-another");
  put_csr(bootstrap, agent, "denied");
  Json denied = *api->get(res::certificate_signing_requests(), {}, "denied");
  denied["status"]["conditions"] = Json::array({{{"type", "Denied"}, {"status", "True"}}});
  api->put(res::certificate_signing_requests(), denied);
  HubLife hub(api, clock, -1, {bootstrap});
  ASSERT_TRUE(hub.settle());
  EXPECT_FALSE(flag(cluster("c1"), {"spec", "hubAcceptsClient"}));
  EXPECT_EQ(annotation_of(cluster("c1"), kAutoAcceptedAnnotation), "");
}

TEST_F(ApprovalTest, AStaleCacheApprovesNothingTwice) {
  put_csr(agent, agent);
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.csr->reconcile("csr1", {}));
  ASSERT_TRUE(hub.csr->reconcile("csr1", {}));  // the cache still shows it undecided
  EXPECT_EQ(api->count("update", "certificatesigningrequests"), 1);
  // Denied by a person meanwhile.
  put_csr(agent, agent, "csr2");
  hub.refresh();
  Json denied = *api->get(res::certificate_signing_requests(), {}, "csr2");
  at_or_make(denied, {"status", "conditions"}) = Json::array({{{"type", "Denied"}, {"status", "True"}}});
  api->put(res::certificate_signing_requests(), denied);
  ASSERT_TRUE(hub.csr->reconcile("csr2", {}));
  EXPECT_EQ(api->count("update", "certificatesigningrequests"), 1);
  // Replaced by another request of the same name.
  put_csr(agent, agent, "csr3");
  hub.refresh();
  api->erase(res::certificate_signing_requests(), {}, "csr3");
  put_csr("system:open-cluster-management:c2:agent1", agent, "csr3");
  ASSERT_TRUE(hub.csr->reconcile("csr3", {}));
  EXPECT_FALSE(approved("csr3"));
}

}  // namespace
}  // namespace fleetadm::registration::hub
