// A hub whose CA is replaced while both are valid: its agents take the new one from their bootstrap kubeconfigs, nobody approves
// anything, and no cluster is unavailable at any time. c1 gets its bootstrap by rejoin, c2 as a repository would write it.
#include <algorithm>
#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/chain.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kAgentSecretsPath = "/api/v1/namespaces/open-cluster-management-agent/secrets/";
constexpr std::string_view kRequestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
constexpr const char* kHubAccount = "system:serviceaccount:open-cluster-management-hub:fleetadm-hub";

std::string member_path(int i) { return std::string(kManagedClusters) + "/c" + std::to_string(i); }

class CaOverlap : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(2, true));
    fleet()->kill_node(0);  // the hub's controllers are a process here, which survives its CA
    const Ran init = run({"init", "--context", "hub", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    ASSERT_NO_FATAL_FAILURE(start_controllers_with_own_rights());
    for (const std::string name : {"c1", "c2"}) {
      std::vector<std::string> args = join_args(init.json());
      std::replace(args.begin(), args.end(), std::string("c1"), name);
      const Ran join = run(args);
      ASSERT_EQ(join.code, 0) << join.both();
    }
    const Ran accept = run({"accept", "c1", "c2", "--context", "hub", "--yes", "--wait=available"});
    ASSERT_EQ(accept.code, 0) << accept.both();
    former() = fleet()->hub().ca();
    next() = pki::make_ca("next-ca", std::chrono::hours(24)).value();
    began() = fleet()->hub().audit_position();
    for (int i : {1, 2}) since(i) = available_since(i);
  }

  static pki::KeyPair& former() {
    static pki::KeyPair pair;
    return pair;
  }
  static pki::KeyPair& next() {
    static pki::KeyPair pair;
    return pair;
  }
  static std::uintmax_t& began() {
    static std::uintmax_t position = 0;
    return position;
  }
  static std::string& since(int i) {
    static std::map<int, std::string> times;
    return times[i];
  }

  static void change_hub(const pki::KeyPair& ca, const std::string& others) {
    controllers().reset();
    const Status changed = fleet()->hub().change_ca(ca, others);
    ASSERT_TRUE(changed) << changed.error().message;
    ASSERT_NO_FATAL_FAILURE(start_controllers_with_own_rights());
  }
  static std::string secret_of(int i, const std::string& name, const std::string& key) {
    return base64_decode(str(fleet()->spoke(i).get(std::string(kAgentSecretsPath) + name), {"data", key})).value_or("");
  }
  static std::string credential(int i, const std::string& key) { return secret_of(i, "hub-kubeconfig-secret", key); }
  /// The CAs that the agent trusts.
  static std::string trusted(int i) {
    const std::string text = credential(i, "kubeconfig");
    const std::string before = "certificate-authority-data: ";
    const auto at = text.find(before);
    if (at == std::string::npos) return {};
    const auto from = at + before.size();
    return base64_decode(text.substr(from, text.find('\n', from) - from)).value_or("");
  }
  /// A bootstrap kubeconfig with these CAs, for both clusters, until both agents trust exactly these.
  static void give(const std::string& cas) {
    const Ran mended = run({"rejoin", "--context", "c1", "--hub-context", "hub", "--ca-file", fleet()->folder().write("cas", cas),
                            "--timeout", "2m", "-o", "json"});
    ASSERT_EQ(mended.code, 0) << mended.both();
    std::string kubeconfig = secret_of(2, "bootstrap-hub-kubeconfig", "kubeconfig");
    const std::string before = "certificate-authority-data: ";
    const auto from = kubeconfig.find(before) + before.size();
    kubeconfig.replace(from, kubeconfig.find('\n', from) - from, base64_encode(cas));
    const auto patched = fleet()->spoke(2).request("PATCH", std::string(kAgentSecretsPath) + "bootstrap-hub-kubeconfig",
                                                   dump_json({{"data", {{"kubeconfig", base64_encode(kubeconfig)}}}}),
                                                   "application/merge-patch+json");
    ASSERT_EQ(patched.status, 200) << patched.body;
    for (int i : {1, 2}) EXPECT_TRUE(eventually([&] { return trusted(i) == cas; }, std::chrono::seconds(60))) << i;
  }

  static std::string available_since(int i) {
    for (const Json& one : list_at(fleet()->hub().get(member_path(i)), {"status", "conditions"})) {
      if (str(one, {"type"}) == "ManagedClusterConditionAvailable" && str(one, {"status"}) == "True")
        return str(one, {"lastTransitionTime"});
    }
    return "never";
  }
  /// Works arrive on both, and neither was ever unavailable.
  static void expect_whole_fleet(const std::string& text) {
    const std::string file = fleet()->folder().write(
        "page.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: page, namespace: default}\ndata: {text: " + text + "}\n");
    const Ran ran = run({"work", "apply", "page", "-f", file, "--clusters", "c1,c2", "--wait=applied", "--context", "hub"});
    ASSERT_EQ(ran.code, 0) << ran.both();
    for (int i : {1, 2}) {
      EXPECT_TRUE(eventually([&] {
        return str(fleet()->spoke(i).get("/api/v1/namespaces/default/configmaps/page"), {"data", "text"}) == text;
      }));
      EXPECT_EQ(available_since(i), since(i)) << "c" << i << " was lost for a while";
    }
  }
  static std::size_t requests_made() { return list_at(fleet()->hub().get(kRequestsPath), {"items"}).size(); }
};

TEST_F(CaOverlap, A_BothCasAreTakenOverWithTheCertificateKept) {
  const std::string certificates[] = {credential(1, "tls.crt"), credential(2, "tls.crt")};
  ASSERT_EQ(requests_made(), 2U);
  ASSERT_NO_FATAL_FAILURE(change_hub(former(), next().certificate));
  ASSERT_NO_FATAL_FAILURE(give(former().certificate + next().certificate));
  for (int i : {1, 2}) EXPECT_EQ(credential(i, "tls.crt"), certificates[i - 1]);
  EXPECT_EQ(requests_made(), 2U) << "no new certificate is needed";
  expect_whole_fleet("both");
}

TEST_F(CaOverlap, B_TheHubServesAndSignsWithTheNextOne) {
  ASSERT_NO_FATAL_FAILURE(change_hub(next(), former().certificate));
  expect_whole_fleet("served");
}

TEST_F(CaOverlap, C_TheNextOneAloneIsTakenOverAndTheCertificateRenewed) {
  ASSERT_NO_FATAL_FAILURE(give(next().certificate));
  for (int i : {1, 2}) {
    EXPECT_TRUE(eventually([&] { return pki::anchor_of(credential(i, "tls.crt"), next().certificate).has_value(); },
                           std::chrono::seconds(60)))
        << "c" << i << " has a certificate of the former CA yet";
  }
  expect_whole_fleet("renewed");
}

TEST_F(CaOverlap, D_TheFormerOneIsTakenNoMoreAndNobodyApprovedAnything) {
  ASSERT_NO_FATAL_FAILURE(change_hub(next(), {}));
  expect_whole_fleet("alone");
  const Ran good = run({"certs", "check", "--context", "c1", "--hub-context", "hub"});
  EXPECT_EQ(good.code, 0) << good.both();
  EXPECT_EQ(requests_made(), 4U) << "each cluster asked for one renewal";
  const auto approvals = fleet()->hub().audit_since(began(), [](const AuditEntry& entry) {
    return entry.resource == "certificatesigningrequests" && entry.subresource == "approval" && entry.is_write();
  });
  EXPECT_GE(approvals.size(), 2U);
  for (const AuditEntry& entry : approvals) EXPECT_EQ(entry.user, kHubAccount);
}

}  // namespace
}  // namespace fleetadm::testkit
