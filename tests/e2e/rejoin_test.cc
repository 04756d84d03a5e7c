// An agent that its hub no longer takes, mended by rejoin: the hub has another CA, the agent's certificate has expired. The
// cluster keeps its name, the agent its ID and its pod, and what works have applied stays.
#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kSecretsOfAgent = "/api/v1/namespaces/open-cluster-management-agent/secrets/";
constexpr std::string_view kPageMap = "/api/v1/namespaces/default/configmaps/page";
constexpr std::string_view kRejoinedAgent = "/apis/apps/v1/namespaces/open-cluster-management-agent/deployments/fleetadm-agent";

class Rejoin : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, true));
    fleet()->kill_node(0);  // the hub's controllers are a process here, which survives its CA
    const Ran init = run({"init", "--context", "hub", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    ASSERT_NO_FATAL_FAILURE(start_controllers());
    const Ran join = run(join_args(init.json()));
    ASSERT_EQ(join.code, 0) << join.both();
    const Ran accept = run({"accept", "c1", "--context", "hub", "--yes", "--wait=available"});
    ASSERT_EQ(accept.code, 0) << accept.both();
    ASSERT_NO_FATAL_FAILURE(deliver("first"));
  }

  /// The work `page` with that content, until it is applied.
  static void deliver(const std::string& text) {
    const std::string file = fleet()->folder().write(
        "page.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: page, namespace: default}\ndata: {text: " + text + "}\n");
    const Ran ran = run({"work", "apply", "page", "-f", file, "--clusters", "c1", "--wait=applied", "--context", "hub"});
    ASSERT_EQ(ran.code, 0) << ran.both();
    EXPECT_TRUE(eventually([&] { return str(fleet()->spoke(1).get(kPageMap), {"data", "text"}) == text; }));
  }
  static std::string stored(const std::string& key) {
    const Json secret = fleet()->spoke(1).get(std::string(kSecretsOfAgent) + "hub-kubeconfig-secret");
    return base64_decode(str(secret, {"data", key})).value_or("");
  }
  static Ran rejoin() { return run({"rejoin", "--context", "c1", "--hub-context", "hub", "--timeout", "2m", "-o", "json"}); }
  static Ran check() { return run({"certs", "check", "--context", "c1", "--hub-context", "hub", "-o", "json"}); }
  static std::string result_of(const Ran& check, const std::string& hop) {
    for (const Json& one : list_at(check.json(), {"items"})) {
      if (str(one, {"hop"}) == hop && str(one, {"cluster"}) == "c1") return str(one, {"result"});
    }
    return {};
  }

  /// What must not change while the agent is mended.
  struct Kept {
    std::string agent_id = stored("agent-name");
    std::string page = uid_of(fleet()->spoke(1).get(kPageMap));
    std::int64_t deployment = num(fleet()->spoke(1).get(kRejoinedAgent), {"metadata", "generation"});
    bool operator==(const Kept&) const = default;
  };
  static void expect_mended(const Kept& before, const std::string& text) {
    const Kept after;
    EXPECT_EQ(after.agent_id, before.agent_id);
    EXPECT_EQ(after.page, before.page) << "the work's object was made again";
    EXPECT_EQ(after.deployment, before.deployment);
    const Ran good = check();
    EXPECT_EQ(good.code, 0) << good.both();
    EXPECT_EQ(result_of(good, "agent certificate"), "ok") << good.both();
    EXPECT_EQ(result_of(good, "hub CA of the agent"), "ok") << good.both();
    deliver(text);
    EXPECT_EQ(uid_of(fleet()->spoke(1).get(kPageMap)), before.page);
    const auto from = fleet()->spoke(1).audit_position();
    const Ran again = rejoin();
    EXPECT_EQ(again.code, 0) << again.both();
    EXPECT_EQ(str(again.json(), {"bootstrap"}), "unchanged") << again.both();
    const auto written = fleet()->spoke(1).audit_since(from, [](const AuditEntry& entry) {
      return entry.is_write() && entry.user_agent.starts_with("fleetadm") && entry.name == "bootstrap-hub-kubeconfig";
    });
    EXPECT_TRUE(written.empty()) << "there was nothing to do";
  }
};

TEST_F(Rejoin, A_NothingIsDoneWhereTheAgentIsWell) {
  const Ran good = check();
  EXPECT_EQ(good.code, 0) << good.both();
  EXPECT_EQ(result_of(good, "bootstrap token"), "ok") << good.both();
  const Ran ran = rejoin();
  EXPECT_EQ(ran.code, 0) << ran.both();
  EXPECT_EQ(str(ran.json(), {"certificate"}), "unchanged") << ran.both();
}

TEST_F(Rejoin, B_AHubWithAnotherCaIsJoinedAgain) {
  const Kept before;
  ASSERT_FALSE(before.page.empty());
  controllers().reset();
  const Status replaced = fleet()->hub().replace_ca();
  ASSERT_TRUE(replaced) << replaced.error().message;
  ASSERT_NO_FATAL_FAILURE(start_controllers());
  const Ran broken = check();
  EXPECT_EQ(broken.code, 1) << broken.both();
  EXPECT_EQ(result_of(broken, "hub CA of the agent"), "wrong") << broken.both();
  EXPECT_EQ(result_of(broken, "hub CA of the bootstrap"), "wrong") << broken.both();
  const Ran dry = run({"rejoin", "--context", "c1", "--hub-context", "hub", "--dry-run=server"});
  EXPECT_EQ(dry.code, 0) << dry.both();
  EXPECT_EQ(result_of(check(), "hub CA of the bootstrap"), "wrong") << "a dry run changes nothing";

  const Ran ran = rejoin();
  ASSERT_EQ(ran.code, 0) << ran.both();
  EXPECT_EQ(str(ran.json(), {"certificate"}), "issued") << ran.both();
  EXPECT_EQ(ran.both().find(stored("tls.key")), std::string::npos);
  expect_mended(before, "second");
}

TEST_F(Rejoin, C_AnExpiredCertificateIsReplaced) {
  const Kept before;
  // The agent was away until its certificate and its bootstrap token had ended.
  fleet()->kill_node(1);
  pki::LeafOptions leaf;
  leaf.subject = {.common_name = "system:open-cluster-management:c1:" + before.agent_id,
                  .organizations = {"system:open-cluster-management:c1", "system:open-cluster-management:managed-clusters"},
                  .organizational_units = {}};
  leaf.client = true;
  leaf.validity = -std::chrono::hours(1);
  leaf.backdate = std::chrono::hours(48);
  const auto expired = pki::issue(fleet()->hub().ca(), leaf);
  ASSERT_TRUE(expired) << expired.error().message;
  const auto patch = [](const std::string& name, const Json& data) {
    return fleet()
        ->spoke(1)
        .request("PATCH", std::string(kSecretsOfAgent) + name, dump_json({{"data", data}}), "application/merge-patch+json")
        .status;
  };
  ASSERT_EQ(patch("hub-kubeconfig-secret",
                  {{"tls.crt", base64_encode(expired->certificate)}, {"tls.key", base64_encode(expired->key)}}),
            200);
  const Json bootstrap = fleet()->spoke(1).get(std::string(kSecretsOfAgent) + "bootstrap-hub-kubeconfig");
  std::string kubeconfig = base64_decode(str(bootstrap, {"data", "kubeconfig"})).value_or("");
  const auto token = kubeconfig.find("token: ");
  ASSERT_NE(token, std::string::npos);
  kubeconfig = kubeconfig.substr(0, token) + "token: ended\n";
  ASSERT_EQ(patch("bootstrap-hub-kubeconfig", {{"kubeconfig", base64_encode(kubeconfig)}}), 200);
  ASSERT_TRUE(fleet()->start_node(1));

  const Ran broken = check();
  EXPECT_EQ(broken.code, 1) << broken.both();
  EXPECT_NE(result_of(broken, "agent certificate"), "ok") << broken.both();
  EXPECT_EQ(result_of(broken, "bootstrap token"), "ended") << broken.both();
  const Ran ran = rejoin();
  ASSERT_EQ(ran.code, 0) << ran.both();
  EXPECT_EQ(str(ran.json(), {"certificate"}), "issued") << ran.both();
  expect_mended(before, "third");
}

}  // namespace
}  // namespace fleetadm::testkit
