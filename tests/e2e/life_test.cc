// The life of a fleet on real servers, each step checked by reading the servers: init, join, accept, unjoin, clean.
#include <gtest/gtest.h>

#include "tests/e2e/recording.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kHubDeployment = "/apis/apps/v1/namespaces/open-cluster-management-hub/deployments/fleetadm-hub";
constexpr std::string_view kAgentDeployment = "/apis/apps/v1/namespaces/open-cluster-management-agent/deployments/fleetadm-agent";

class Life : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, true));
    settle({&fleet()->hub(), &fleet()->spoke(1)});  // the nodes make themselves known
    before_hub() = inventory(fleet()->hub());
    before_spoke() = inventory(fleet()->spoke(1));
  }
  static std::set<std::string>& before_hub() {
    static std::set<std::string> names;
    return names;
  }
  static std::set<std::string>& before_spoke() {
    static std::set<std::string> names;
    return names;
  }
  static Json& ticket() {
    static Json the_ticket;
    return the_ticket;
  }
  static std::vector<std::string> join_args() { return FleetTest::join_args(ticket()); }
  static std::vector<std::string> with(std::vector<std::string> args, std::initializer_list<std::string> more) {
    args.insert(args.end(), more);
    return args;
  }
};

TEST_F(Life, A_DryRunOfInitSendsNoWrite) {
  const auto from = fleet()->hub().audit_position();
  const Ran ran = fleet()->run({"init", "--context", "hub", "--dry-run=client"});
  EXPECT_EQ(ran.code, 0) << ran.both();
  EXPECT_TRUE(writes_since(fleet()->hub(), from).empty());
  EXPECT_EQ(inventory(fleet()->hub()), before_hub());
}

TEST_F(Life, A_ServerDryRunOfInitJudgesAClusterWithoutOurNamespaces) {
  const Ran ran = fleet()->run({"init", "--context", "hub", "--dry-run=server", "-o", "json"});
  ASSERT_EQ(ran.code, 0) << ran.both();
  EXPECT_EQ(inventory(fleet()->hub()), before_hub());
  int unchecked = 0;
  const Json report = ran.json();
  for (const Json& change : list_at(report, {"changes"})) {
    EXPECT_EQ(str(change, {"action"}), "created") << dump_json(change);
    if (str(change, {"namespace"}).starts_with("open-cluster-management")) {
      ++unchecked;
      EXPECT_NE(str(change, {"unchecked"}).find("does not exist yet"), std::string::npos) << dump_json(change);
    } else {
      EXPECT_EQ(str(change, {"unchecked"}), "") << dump_json(change);
    }
  }
  EXPECT_GE(unchecked, 3);
}

TEST_F(Life, B_InitMakesAHub) {
  const Ran ran = fleet()->run({"init", "--context", "hub", "--wait", "-o", "json"});
  ASSERT_EQ(ran.code, 0) << ran.both();
  ticket() = ran.json();
  EXPECT_FALSE(str(ticket(), {"hub-token"}).empty());
  EXPECT_TRUE(str(ticket(), {"ca-cert-hash"}).starts_with("sha256:"));
  EXPECT_EQ(num(fleet()->hub().get(kHubDeployment), {"status", "availableReplicas"}), 1);
  EXPECT_FALSE(fleet()->hub().get("/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets/default").is_null());
  EXPECT_TRUE(eventually([] {
    return !fleet()->hub().get("/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets/global").is_null();
  }));
}

TEST_F(Life, C_InitAgainWritesNothingNew) {
  // Server-side apply sends each object again; what counts is that no object changes.
  const auto version = [](std::string_view path) { return resource_version_of(fleet()->hub().get(path)); };
  const std::string crd =
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/managedclusters.cluster.open-cluster-management.io";
  const auto crd_before = version(crd);
  const auto generation = num(fleet()->hub().get(kHubDeployment), {"metadata", "generation"});
  const Ran ran = fleet()->run({"init", "--context", "hub", "--wait", "-o", "json"});
  ASSERT_EQ(ran.code, 0) << ran.both();
  const Json report = ran.json();
  for (const Json& change : list_at(report, {"changes"})) EXPECT_EQ(str(change, {"action"}), "unchanged") << dump_json(change);
  EXPECT_EQ(version(crd), crd_before);
  EXPECT_EQ(num(fleet()->hub().get(kHubDeployment), {"metadata", "generation"}), generation);
  for (const char* how : {"--dry-run=client", "--dry-run=server"}) {
    const Ran dry = fleet()->run({"init", "--context", "hub", how, "-o", "json"});
    ASSERT_EQ(dry.code, 0) << dry.both();
    const Json judged = dry.json();
    for (const Json& change : list_at(judged, {"changes"})) EXPECT_EQ(str(change, {"action"}), "unchanged") << dump_json(change);
  }
}

TEST_F(Life, D_JoinRefusesAWrongPinBeforeTheTokenIsSent) {
  const auto from = fleet()->hub().audit_position();
  auto args = join_args();
  args.back() = "sha256:" + std::string(64, '0');
  const Ran ran = fleet()->run(args);
  EXPECT_EQ(ran.code, 1) << ran.both();
  EXPECT_NE(ran.err.find("pin"), std::string::npos) << ran.both();
  const auto seen = fleet()->hub().audit_since(
      from, [](const AuditEntry& entry) { return entry.user.find("agent-registration-bootstrap") != std::string::npos; });
  EXPECT_TRUE(seen.empty()) << "the bootstrap identity was used";
  EXPECT_EQ(inventory(fleet()->spoke(1)), before_spoke());
}

TEST_F(Life, E_JoinRefusesAWrongToken) {
  auto args = join_args();
  args[8] = "not-a-token";
  const Ran ran = fleet()->run(args);
  EXPECT_EQ(ran.code, 4) << ran.both();
  EXPECT_EQ(ran.err.find("not-a-token"), std::string::npos) << "a token is never printed";
  EXPECT_EQ(inventory(fleet()->spoke(1)), before_spoke());
}

TEST_F(Life, E_ACreatedTokenIsGoodUntilItIsRevoked) {
  const Ran created = fleet()->run({"token", "create", "--ttl", "1h", "--context", "hub", "-o", "json"});
  ASSERT_EQ(created.code, 0) << created.both();
  const std::string token = str(created.json(), {"hub-token"});
  auto args = with(FleetTest::join_args(created.json()), {"--preflight-only"});
  EXPECT_EQ(fleet()->run(args).code, 0);
  const Ran listed = fleet()->run({"token", "list", "--context", "hub"});
  EXPECT_NE(listed.out.find(token.substr(0, 6)), std::string::npos) << listed.both();
  EXPECT_EQ(listed.both().find(token.substr(7)), std::string::npos) << "the secret part is never shown";
  ASSERT_EQ(fleet()->run({"token", "revoke", token, "--context", "hub"}).code, 0);
  EXPECT_TRUE(eventually([&] { return fleet()->run(args).code == 4; }));
}

TEST_F(Life, F_JoinRefusesAHubThatIsNone) {
  // The spoke itself is a server with a CA, but no hub; the token of its own bootstrap identity does not exist either, so a
  // service account's token stands in.
  const Json request{
      {"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", {{"expirationSeconds", 3600}}}};
  const auto token = fleet()->spoke(1).create("/api/v1/namespaces/default/serviceaccounts/default/token", request).json();
  auto args = join_args();
  args[6] = fleet()->spoke(1).url();
  args[8] = str(token, {"status", "token"});
  args[9] = "--ca-file";
  args[10] = fleet()->folder().write("spoke-ca.crt", fleet()->spoke(1).ca().certificate);
  const Ran ran = fleet()->run(args);
  EXPECT_EQ(ran.code, 1) << ran.both();
  EXPECT_NE(ran.err.find("no hub"), std::string::npos) << ran.both();
}

TEST_F(Life, G_AServerDryRunOfJoinJudgesAClusterWithoutOurNamespaces) {
  const Ran ran = fleet()->run(with(join_args(), {"--dry-run=server", "-o", "json"}));
  ASSERT_EQ(ran.code, 0) << ran.both();
  EXPECT_EQ(inventory(fleet()->spoke(1)), before_spoke());
  const Json report = ran.json();
  EXPECT_FALSE(list_at(report, {"changes"}).empty());
  for (const Json& change : list_at(report, {"changes"})) EXPECT_EQ(str(change, {"action"}), "created") << dump_json(change);
}

TEST_F(Life, G_JoinRegistersTheCluster) {
  const Ran ran = fleet()->run(with(join_args(), {"--wait", "-o", "json"}));
  ASSERT_EQ(ran.code, 0) << ran.both();
  EXPECT_EQ(num(fleet()->spoke(1).get(kAgentDeployment), {"status", "availableReplicas"}), 1);
  const Json cluster = fleet()->hub().get(std::string(kManagedClusters) + "/c1");
  ASSERT_FALSE(cluster.is_null());
  EXPECT_FALSE(flag(cluster, {"spec", "hubAcceptsClient"}));
  const Ran again = fleet()->run(with(join_args(), {"--wait", "-o", "json"}));
  ASSERT_EQ(again.code, 0) << again.both();
  const Json report = again.json();
  for (const Json& change : list_at(report, {"changes"})) EXPECT_EQ(str(change, {"action"}), "unchanged") << dump_json(change);
}

TEST_F(Life, H_AcceptMakesItAvailable) {
  const Ran dry = fleet()->run({"accept", "--context", "hub", "c1", "--wait=accepted", "--dry-run=server"});
  EXPECT_EQ(dry.code, 0) << dry.both();
  EXPECT_FALSE(flag(fleet()->hub().get(std::string(kManagedClusters) + "/c1"), {"spec", "hubAcceptsClient"}));
  const Ran ran = fleet()->run({"accept", "--context", "hub", "c1", "--wait=available", "--yes"});
  ASSERT_EQ(ran.code, 0) << ran.both();
  const std::string path = std::string(kManagedClusters) + "/c1";
  EXPECT_EQ(condition(fleet()->hub(), path, "HubAcceptedManagedCluster"), "True");
  EXPECT_EQ(condition(fleet()->hub(), path, "ManagedClusterJoined"), "True");
  EXPECT_EQ(condition(fleet()->hub(), path, "ManagedClusterConditionAvailable"), "True");
  EXPECT_TRUE(eventually([&] { return !str(fleet()->hub().get(path), {"status", "allocatable", "memory"}).empty(); }));
  EXPECT_TRUE(eventually([&] {
    return list_at(fleet()->hub().get(path), {"spec", "taints"}).empty();
  })) << "an available cluster has no taints";
  EXPECT_EQ(label_of(fleet()->hub().get(path), "cluster.open-cluster-management.io/clusterset"), "default");
  for (const char* context : {"hub", "c1"}) {
    const Ran healthy = fleet()->run({"doctor", "--context", context, "-o", "json"});
    EXPECT_EQ(healthy.code, 0) << healthy.both();
    const Json report = healthy.json();
    EXPECT_GE(list_at(report, {"checks"}).size(), 8U);
    for (const Json& check : list_at(report, {"checks"})) {
      const bool without_election = str(check, {"check"}) == "leader" && std::string_view(context) == "c1";
      EXPECT_EQ(str(check, {"result"}), without_election ? "skip" : "ok") << dump_json(check);
    }
  }
  const Ran again = fleet()->run({"accept", "--context", "hub", "c1", "--yes"});
  EXPECT_EQ(again.code, 0) << again.both();
  EXPECT_NE(again.out.find("already"), std::string::npos) << again.both();
  const Ran shown = fleet()->run({"get", "clusters", "--context", "hub"});
  EXPECT_EQ(shown.code, 0) << shown.both();
  EXPECT_NE(shown.out.find("c1"), std::string::npos) << shown.both();
}

TEST_F(Life, I_JoiningUnderAnotherNameIsRefused) {
  auto args = join_args();
  args[4] = "c9";
  const Ran ran = fleet()->run(args);
  EXPECT_EQ(ran.code, 1) << ran.both();
  EXPECT_NE(ran.err.find("already joined a fleet"), std::string::npos) << ran.both();
}

TEST_F(Life, J_CleanRefusesWhileClustersAreLeft) {
  const Ran ran = fleet()->run({"clean", "--context", "hub", "--yes"});
  EXPECT_EQ(ran.code, 1) << ran.both();
  EXPECT_NE(ran.err.find("c1"), std::string::npos) << ran.both();
  EXPECT_EQ(num(fleet()->hub().get(kHubDeployment), {"status", "availableReplicas"}), 1);
}

TEST_F(Life, K_UnjoinLeavesBothSidesAsTheyWere) {
  const Ran ran = fleet()->run({"unjoin", "--context", "c1", "--hub-context", "hub", "--yes"});
  ASSERT_EQ(ran.code, 0) << ran.both();
  EXPECT_TRUE(fleet()->hub().get(std::string(kManagedClusters) + "/c1").is_null());
  EXPECT_TRUE(fleet()->hub().get("/api/v1/namespaces/c1").is_null());
  EXPECT_EQ(inventory(fleet()->spoke(1)), before_spoke());
  const Ran again = fleet()->run({"unjoin", "--context", "c1", "--hub-context", "hub", "--cluster-name", "c1", "--yes"});
  EXPECT_EQ(again.code, 0) << again.both();
}

TEST_F(Life, L_CleanLeavesTheHubAsItWas) {
  const Ran ran = fleet()->run({"clean", "--context", "hub", "--yes"});
  ASSERT_EQ(ran.code, 0) << ran.both();
  EXPECT_EQ(inventory(fleet()->hub()), before_hub());
  const Ran again = fleet()->run({"clean", "--context", "hub", "--yes"});
  EXPECT_EQ(again.code, 0) << again.both();
}

}  // namespace
}  // namespace fleetadm::testkit
