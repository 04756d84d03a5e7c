// Certificates of tunnels: what is signed of a request, and of which.
#include "core/gateway/tunnel_signing.h"

#include <gtest/gtest.h>

#include "core/api/cluster_proxy.h"
#include "core/gateway/issued_certificates.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::gateway {
namespace {

class TunnelSigning : public testing::Test {
 protected:
  static pki::Subject tunnel() {
    return {std::string(api::kProxyAgentUser), {"open-cluster-management:cluster-proxy"}, {"signer-abc"}};
  }
  static Json request(const pki::Subject& subject, const std::vector<std::string>& names = {}) {
    return {{"metadata", {{"name", "addon-c1-cluster-proxy-x1"}}},
            {"spec",
             {{"signerName", api::kProxyAgentSigner},
              {"request", base64_encode(pki::make_csr(pki::generate_key().value(), subject, names).value())},
              {"username", "system:open-cluster-management:c1:agent1"},
              {"groups", {"system:open-cluster-management:c1", "system:open-cluster-management", "system:authenticated"}},
              {"usages", {"client auth", "digital signature", "key encipherment"}}}},
            {"status", {{"conditions", Json::array({{{"type", "Approved"}, {"status", "True"}}})}}}};
  }
  Result<std::string> sign(const Json& request) const { return sign_tunnel_request(request, ca_, now_); }

  const pki::KeyPair ca_ = *pki::make_ca("cluster-proxy", std::chrono::hours(24 * 365));
  const Instant now_ = Clock::system()->now();
};

TEST_F(TunnelSigning, NothingButTheSubjectAndTheKeyOfARequestIsSigned) {
  const std::vector<std::string> names = {"cluster-proxy.addon.open-cluster-management.io",
                                          "proxy-entrypoint.open-cluster-management-addon.svc",
                                          "*.open-cluster-management.proxy"};
  Json asked = request(tunnel(), names);
  const auto pem = sign(asked);
  ASSERT_TRUE(pem) << pem.error().message;
  const pki::CertInfo leaf = pki::parse_certificates(*pem).value().front();
  EXPECT_EQ(leaf.subject, tunnel());
  EXPECT_EQ(leaf.dns_names, std::vector<std::string>{});
  EXPECT_EQ(leaf.ip_addresses, std::vector<std::string>{});
  EXPECT_EQ(leaf.usages, (std::vector<std::string>{"digital signature", "key encipherment", "client auth"}));
  EXPECT_FALSE(leaf.is_ca);
  EXPECT_GT(leaf.not_after, now_ + std::chrono::hours(24 * 179));
  EXPECT_LE(leaf.not_after, now_ + std::chrono::hours(24 * 180));
  asked["status"]["certificate"] = base64_encode(*pem);
  const auto issued = read_issued(asked);
  ASSERT_TRUE(issued) << "it is remembered";
  EXPECT_EQ(issued->cluster, "c1");
}

TEST_F(TunnelSigning, AClusterWithAnIdentityOfAwsIsKnownByItsUserAndGroup) {
  Json asked = request(tunnel());
  asked["spec"]["username"] = "c1";
  asked["spec"]["groups"] = {"system:authenticated"};
  EXPECT_FALSE(sign(asked)) << "a user of that name";
  asked["spec"]["groups"] = {"open-cluster-management:c2", "system:authenticated"};
  EXPECT_FALSE(sign(asked)) << "of another cluster";
  asked["spec"]["groups"] = {"open-cluster-management:c1", "system:authenticated"};
  ASSERT_TRUE(sign(asked));
  EXPECT_EQ(cluster_of_requester(asked), "c1");
}

TEST_F(TunnelSigning, OtherRequestsAreNotSigned) {
  ASSERT_TRUE(sign(request(tunnel())));
  pki::Subject named = tunnel();
  named.common_name = "open-cluster-management:cluster-proxy:addon-agent";
  EXPECT_FALSE(sign(request(named))) << "another name";
  pki::Subject master = tunnel();
  master.organizations.emplace_back("system:masters");
  EXPECT_FALSE(sign(request(master))) << "another group";
  Json of_another = request(tunnel());
  of_another["spec"]["username"] = "system:serviceaccount:c1:agent";
  EXPECT_FALSE(sign(of_another)) << "no agent";
  Json of_stranger = request(tunnel());
  of_stranger["spec"]["groups"] = {"system:open-cluster-management:c2"};
  EXPECT_FALSE(sign(of_stranger)) << "an agent that is not of that cluster";
  Json for_servers = request(tunnel());
  for_servers["spec"]["usages"].push_back("server auth");
  EXPECT_FALSE(sign(for_servers));
  Json of_nothing = request(tunnel());
  of_nothing["spec"]["request"] = base64_encode("no request");
  EXPECT_FALSE(sign(of_nothing));
  const pki::KeyPair other = *pki::make_ca("other", std::chrono::hours(1));
  EXPECT_FALSE(sign_tunnel_request(request(tunnel()), {ca_.certificate, other.key}, now_))
      << "a CA's certificate without its key";
}

TEST_F(TunnelSigning, WaitsForApproval) {
  Json asked = request(tunnel());
  EXPECT_TRUE(awaits_tunnel_certificate(asked));
  Json denied = asked;
  denied["status"]["conditions"].push_back({{"type", "Denied"}, {"status", "True"}});
  EXPECT_FALSE(awaits_tunnel_certificate(denied));
  Json unapproved = asked;
  unapproved["status"] = Json::object();
  EXPECT_FALSE(awaits_tunnel_certificate(unapproved));
  Json of_another = asked;
  of_another["spec"]["signerName"] = "kubernetes.io/kube-apiserver-client";
  EXPECT_FALSE(awaits_tunnel_certificate(of_another));
  asked["status"]["certificate"] = "LS0t";
  EXPECT_FALSE(awaits_tunnel_certificate(asked));
}

}  // namespace
}  // namespace fleetadm::gateway
