// join --mode hosted: two members that run nothing, whose agents are one pod on a third cluster, from the first command to the
// last.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/token_claims.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

const std::string kHostedFolder = "/api/v1/namespaces/open-cluster-management-hosted";
const std::string kHostedSecrets = kHostedFolder + "/secrets/";
constexpr std::string_view kProgram =
    "/apis/apps/v1/namespaces/open-cluster-management-hosted/deployments/fleetadm-hosted-agents";
constexpr std::string_view kMemberAccount = "/api/v1/namespaces/open-cluster-management-agent/serviceaccounts/fleetadm-agent";
constexpr int kHosting = 3;

class HostedJoin : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(3, false));
    const Status node = fleet()->start_node(kHosting);
    ASSERT_TRUE(node) << node.error().message;
    for (int i = 1; i <= 3; ++i) before(i) = inventory(fleet()->spoke(i));
    const Ran init = run({"init", "--context", "hub", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    ticket() = init.json();
    ASSERT_NO_FATAL_FAILURE(start_controllers());
  }
  static Json& ticket() {
    static Json the_ticket;
    return the_ticket;
  }
  static std::set<std::string>& before(int i) {
    static std::map<int, std::set<std::string>> names;
    return names[i];
  }
  static Ran join(const std::string& name, const std::string& context, const std::vector<std::string>& more = {}) {
    std::vector<std::string> args = join_args(ticket());
    std::replace(args.begin(), args.end(), std::string("c1"), name);
    args.at(2) = "c3";
    args.insert(args.end(), {"--mode", "hosted", "--managed-cluster-context", context, "-o", "json"});
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }
  static Ran unjoin(const std::string& name, const std::string& context, const std::vector<std::string>& more = {}) {
    std::vector<std::string> args{
        "unjoin", "--mode", "hosted", "--context", "c3", "--cluster-name", name, "--managed-cluster-context",
        context,  "-o",     "json"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }
  static void work(const std::string& cluster, const std::string& name) {
    const Json map{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}, {"namespace", "default"}}}};
    const auto made = fleet()->hub().create("/apis/work.open-cluster-management.io/v1/namespaces/" + cluster + "/manifestworks",
                                            {{"apiVersion", "work.open-cluster-management.io/v1"},
                                             {"kind", "ManifestWork"},
                                             {"metadata", {{"name", name}, {"namespace", cluster}}},
                                             {"spec", {{"workload", {{"manifests", Json::array({map})}}}}}});
    ASSERT_EQ(made.status, 201) << made.body;
  }
  static bool has_map(int spoke, const std::string& name) {
    return eventually([&] { return !fleet()->spoke(spoke).get("/api/v1/namespaces/default/configmaps/" + name).is_null(); },
                      std::chrono::seconds(60));
  }
  static bool is_as_before(int spoke) {
    return eventually([&] {
      const auto now = inventory(fleet()->spoke(spoke));
      return std::includes(before(spoke).begin(), before(spoke).end(), now.begin(), now.end());
    });
  }
  /// What differs, for messages.
  static std::string left_on(int spoke) {
    std::string text;
    for (const std::string& name : inventory(fleet()->spoke(spoke))) {
      if (!before(spoke).contains(name)) text += name + "\n";
    }
    return text;
  }
  static std::string member_token(const std::string& cluster) {
    const Json secret = fleet()->spoke(kHosting).get(kHostedSecrets + cluster + ".member");
    const std::string kubeconfig = base64_decode(str(secret, {"data", "kubeconfig"})).value_or("");
    const auto at = kubeconfig.find("token: ");
    return at == std::string::npos ? "" : kubeconfig.substr(at + 7, kubeconfig.find('\n', at) - at - 7);
  }
};

TEST_F(HostedJoin, A_ADryRunWritesNothing) {
  const Ran dry = join("c1", "c1", {"--dry-run=server"});
  ASSERT_EQ(dry.code, 0) << dry.both();
  EXPECT_TRUE(is_as_before(1)) << left_on(1);
  EXPECT_TRUE(is_as_before(kHosting)) << left_on(kHosting);
}

TEST_F(HostedJoin, B_TwoMembersJoinAndTakeWorks) {
  const Ran first = join("c1", "c1", {"--wait", "--labels", "env=prod"});
  ASSERT_EQ(first.code, 0) << first.both();
  const Ran second = join("c2", "c2", {"--wait"});
  ASSERT_EQ(second.code, 0) << second.both();
  const Ran accept = run({"accept", "--context", "hub", "c1", "--agent-id", str(first.json(), {"agent-id"}), "--wait=available"});
  ASSERT_EQ(accept.code, 0) << accept.both();
  const Ran other = run({"accept", "--context", "hub", "c2", "--wait=available", "--yes"});
  ASSERT_EQ(other.code, 0) << other.both();
  EXPECT_EQ(str(fleet()->hub().get(std::string(kManagedClusters) + "/c1"), {"metadata", "labels", "env"}), "prod");
  work("c1", "first");
  work("c2", "first");
  EXPECT_TRUE(has_map(1, "first"));
  EXPECT_TRUE(has_map(2, "first"));
  const Json deployments = fleet()->spoke(1).get("/apis/apps/v1/namespaces/open-cluster-management-agent/deployments");
  EXPECT_TRUE(list_at(deployments, {"items"}).empty());
}

TEST_F(HostedJoin, C_JoiningAgainChangesNothing) {
  const std::string token = member_token("c1");
  ASSERT_FALSE(token.empty());
  const Ran again = join("c1", "c1", {"--labels", "env=prod"});
  ASSERT_EQ(again.code, 0) << again.both();
  for (const Json& change : list_at(again.json(), {"changes"})) EXPECT_EQ(str(change, {"action"}), "unchanged") << change;
  EXPECT_EQ(member_token("c1"), token);
}

TEST_F(HostedJoin, D_AClusterIsHostedOnceAndUnderOneName) {
  EXPECT_NE(join("c9", "c1").err.find("already hosted, as \\\"c1\\\""), std::string::npos);
  EXPECT_NE(join("c2", "hub").err.find("a member \\\"c2\\\" is already hosted"), std::string::npos);
  const Ran elsewhere = join("c1", "c1", {"--hosted-namespace", "other"});
  EXPECT_NE(elsewhere.err.find("already hosted"), std::string::npos) << elsewhere.both();
  const Ran itself = run(join_args(ticket()));
  EXPECT_NE(itself.err.find("already hosted"), std::string::npos) << itself.both();
  const Ran leave = run({"unjoin", "--context", "c1", "--yes"});
  EXPECT_NE(leave.err.find("it is hosted, as \"c1\""), std::string::npos) << leave.both();
  const Ran wrong = unjoin("c1", "c2", {"--yes"});
  EXPECT_NE(wrong.err.find("hosted as \\\"c2\\\", not as \\\"c1\\\""), std::string::npos) << wrong.both();
}

TEST_F(HostedJoin, E_TheAgentReachesItsMemberWithTheRightsOfAnAgentAlone) {
  const auto claims = token_claims(member_token("c1"));
  ASSERT_TRUE(claims);
  EXPECT_EQ(claims->account_namespace + "/" + claims->account, "open-cluster-management-agent/fleetadm-agent");
  const Json secret = fleet()->spoke(kHosting).get(kHostedSecrets + "c1.member");
  const std::string kubeconfig = base64_decode(str(secret, {"data", "kubeconfig"})).value_or("");
  EXPECT_EQ(kubeconfig.find("client-certificate"), std::string::npos) << "what the person who joins it has";
  const Json account = fleet()->spoke(1).get(kMemberAccount);
  EXPECT_EQ(annotation_of(account, "fleetadm.io/hosted-as"), "c1");
}

TEST_F(HostedJoin, F_DoctorAndCertsCheckKnowWhereTheAgentIs) {
  const auto result = [](const Json& report, const std::string& name) {
    for (const Json& check : list_at(report, {"checks"})) {
      if (str(check, {"check"}) == name) return str(check, {"result"}) + ": " + str(check, {"detail"});
    }
    return std::string("no such check");
  };
  const Ran both = run({"doctor", "--mode", "hosted", "--context", "c3", "--managed-cluster-context", "c1", "-o", "json"});
  EXPECT_EQ(both.code, 0) << both.both();
  for (const char* name : {"hosted agents", "hosted members", "managed cluster: server", "managed cluster: CRDs",
                           "managed cluster: hosted by", "c1: member token", "c1: certificate", "c1: hub", "c1: hub CA"})
    EXPECT_TRUE(result(both.json(), name).starts_with("ok: ")) << name << " " << result(both.json(), name);
  EXPECT_NE(result(both.json(), "c1: member token").find("the member takes it"), std::string::npos);
  // kube-apiserver brings nobody to pods on loopback, and the sandbox to none.
  EXPECT_TRUE(result(both.json(), "c1: agent").starts_with("skip: it could not be asked")) << result(both.json(), "c1: agent");
  EXPECT_EQ(result(both.json(), "c2: certificate"), "no such check") << "only the member that is named";
  const Ran unasked = run({"doctor", "--context", "c3", "-o", "json"});
  EXPECT_EQ(str(unasked.json(), {"role"}), "hosting cluster") << unasked.both();
  EXPECT_TRUE(result(unasked.json(), "c2: certificate").starts_with("ok: "));
  EXPECT_TRUE(result(unasked.json(), "c2: managed cluster").starts_with("skip: "));
  const Ran of_member = run({"doctor", "--context", "c1", "-o", "json"});
  EXPECT_EQ(of_member.code, 0) << of_member.both();
  EXPECT_TRUE(result(of_member.json(), "agent").starts_with("skip: it runs on another cluster")) << of_member.both();

  const Ran certs = run({"certs", "check", "--mode", "hosted", "--context", "c3", "--hub-context", "hub", "-o", "json"});
  EXPECT_EQ(certs.code, 0) << certs.both();
  std::set<std::string> taken;
  for (const Json& hop : list_at(certs.json(), {"items"})) {
    if (str(hop, {"detail"}).find(" takes it") != std::string::npos)
      taken.insert(str(hop, {"cluster"}) + " " + str(hop, {"hop"}));
  }
  for (const char* hop : {"c1 member token", "c2 member token", "c1 agent certificate", "c2 agent certificate"})
    EXPECT_TRUE(taken.contains(hop)) << hop << " " << certs.both();
  for (const Ran* ran : {&both, &certs}) EXPECT_EQ(ran->both().find(member_token("c1")), std::string::npos);
}

TEST_F(HostedJoin, G_ANewPodGoesOnWithTheSameIdentity) {
  const auto requests = [] {
    return list_at(fleet()->hub().get("/apis/certificates.k8s.io/v1/certificatesigningrequests"), {"items"}).size();
  };
  const std::size_t asked = requests();
  fleet()->kill_node(kHosting);
  const Status node = fleet()->start_node(kHosting);
  ASSERT_TRUE(node) << node.error().message;
  work("c1", "second");
  work("c2", "second");
  EXPECT_TRUE(has_map(1, "second"));
  EXPECT_TRUE(has_map(2, "second"));
  EXPECT_EQ(requests(), asked);
}

TEST_F(HostedJoin, H_RejoinMendsBothWaysAndKeepsTheIdentity) {
  const auto rejoin = [] {
    return run({"rejoin", "--mode", "hosted", "--context", "c3", "--managed-cluster-context", "c1", "--hub-context", "hub", "-o",
                "json"});
  };
  const auto credential = [] { return fleet()->spoke(kHosting).get(kHostedSecrets + "c1-hub-kubeconfig-secret"); };
  const auto replace = [](const std::string& secret, const std::string& kubeconfig) {
    const Json change{{"data", {{"kubeconfig", base64_encode(kubeconfig)}}}};
    const auto done =
        fleet()->spoke(kHosting).request("PATCH", kHostedSecrets + secret, dump_json(change), "application/merge-patch+json");
    ASSERT_EQ(done.status, 200) << done.body;
  };
  const Ran well = rejoin();
  ASSERT_EQ(well.code, 0) << well.both();
  EXPECT_EQ(str(well.json(), {"member-token"}), "unchanged");
  EXPECT_EQ(str(well.json(), {"certificate"}), "unchanged");
  const std::string token = member_token("c1");
  const std::string agent = str(credential(), {"data", "agent-name"});
  ASSERT_FALSE(agent.empty());
  const Ran not_there = run({"rejoin", "--context", "c1", "--hub-context", "hub"});
  EXPECT_NE(not_there.err.find("it is hosted, as \"c1\""), std::string::npos) << not_there.both();

  // Neither the member nor the hub takes the agent any more.
  replace("c1.bootstrap", fleet()->hub().kubeconfig_with_token("abcdef.0123456789abcdef"));
  replace("c1.member", fleet()->spoke(1).kubeconfig_with_token("no-token"));
  ASSERT_LT(fleet()->spoke(kHosting).request("DELETE", kHostedSecrets + "c1-hub-kubeconfig-secret").status, 300);
  const Ran ill = run({"doctor", "--mode", "hosted", "--context", "c3", "--clusters", "c1"});
  EXPECT_EQ(ill.code, 1) << ill.both();
  EXPECT_NE(ill.both().find("fleetadm rejoin --context HOSTING_CLUSTER --mode hosted"), std::string::npos) << ill.both();
  const Ran mended = rejoin();
  ASSERT_EQ(mended.code, 0) << mended.both();
  EXPECT_EQ(str(mended.json(), {"member-token"}), "issued");
  EXPECT_EQ(str(mended.json(), {"bootstrap"}), "configured");
  EXPECT_EQ(str(mended.json(), {"certificate"}), "issued");
  EXPECT_NE(member_token("c1"), token);
  EXPECT_EQ(mended.both().find(member_token("c1")), std::string::npos);
  EXPECT_EQ(str(credential(), {"data", "agent-name"}), agent) << "the same agent";
  work("c1", "mended");
  EXPECT_TRUE(has_map(1, "mended"));
  EXPECT_FALSE(fleet()->spoke(1).get("/api/v1/namespaces/default/configmaps/first").is_null()) << "what was applied stays";
  work("c2", "meanwhile");
  EXPECT_TRUE(has_map(2, "meanwhile"));
}

TEST_F(HostedJoin, I_AnUpgradeIsOneOfAllMembers) {
  const auto upgrade = [](const std::vector<std::string>& more) {
    std::vector<std::string> args{"upgrade", "agent", "--mode", "hosted", "--context", "c3", "-o", "json"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  };
  const Ran same = upgrade({"--plan"});
  ASSERT_EQ(same.code, 0) << same.both();
  EXPECT_EQ(string_list_at(same.json(), {"members"}), (std::vector<std::string>{"c1", "c2"})) << same.both();
  EXPECT_TRUE(list_at(same.json(), {"changes"}).empty()) << "this version is installed; " << same.both();
  const auto pods = [] {
    std::set<std::string> running;
    for (const Json& pod : list_at(fleet()->spoke(kHosting).get(kHostedFolder + "/pods"), {"items"})) running.insert(uid_of(pod));
    return running;
  };
  const auto before = pods();
  // From the hub nothing reaches that pod: who asks is told where to go, and nothing is left waiting for an agent.
  const auto from_hub = [](const std::vector<std::string>& more) {
    std::vector<std::string> args{"upgrade", "agent", "--clusters", "c1,c2", "--context", "hub", "-o", "json", "--yes"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  };
  const auto states = [](const Ran& ran) {
    std::map<std::string, std::string> all;
    for (const Json& one : list_at(ran.json(), {"clusters"})) all[str(one, {"cluster"})] = str(one, {"state"});
    return all;
  };
  const Ran current = from_hub({});
  EXPECT_EQ(current.code, 0) << current.both();
  EXPECT_EQ(states(current), (std::map<std::string, std::string>{{"c1", "Succeeded"}, {"c2", "Succeeded"}})) << current.both();
  const Ran plan = from_hub({"--to", "v0.0.9", "--plan"});
  EXPECT_EQ(plan.code, 0) << plan.both();
  EXPECT_NE(plan.out.find("in one pod with those of 1 other member"), std::string::npos) << plan.both();
  const Ran left = from_hub({"--to", "v0.0.9"});
  EXPECT_EQ(left.code, 3) << left.both();
  EXPECT_EQ(states(left), (std::map<std::string, std::string>{{"c1", "Hosted"}, {"c2", "Hosted"}})) << left.both();
  EXPECT_NE(left.err.find("fleetadm upgrade agent --mode hosted --context HOSTING_CLUSTER"), std::string::npos) << left.both();
  for (const Json& one :
       list_at(fleet()->hub().get("/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks"), {"items"}))
    EXPECT_EQ(name_of(one).find("agent"), std::string::npos) << name_of(one);
  EXPECT_EQ(pods(), before);
  const Ran back = upgrade({"--to", "v0.0.9", "--yes", "--wait"});
  ASSERT_EQ(back.code, 0) << back.both();
  EXPECT_NE(dump_json(fleet()->spoke(kHosting).get(kProgram)).find(":v0.0.9\""), std::string::npos);
  EXPECT_NE(pods(), before);
  for (const char* cluster : {"c1", "c2"}) work(cluster, "upgraded");
  EXPECT_TRUE(has_map(1, "upgraded"));
  EXPECT_TRUE(has_map(2, "upgraded"));
  const Ran elsewhere = upgrade({"--hosted-namespace", "nowhere"});
  EXPECT_NE(elsewhere.code, 0);
  EXPECT_EQ(upgrade({"--clusters", "c1"}).code, 64);
}

TEST_F(HostedJoin, J_OneLeavesAndTheOtherGoesOn) {
  const Ran plan = unjoin("c1", "c1", {"--hub-context", "hub", "--plan"});
  ASSERT_EQ(plan.code, 0) << plan.both();
  EXPECT_EQ(list_at(plan.json(), {"blockers"}).size(), 5U) << plan.both();
  const Ran left = unjoin("c1", "c1", {"--hub-context", "hub", "--allow-removals"});
  ASSERT_EQ(left.code, 0) << left.both();
  EXPECT_TRUE(fleet()->hub().get(std::string(kManagedClusters) + "/c1").is_null());
  EXPECT_TRUE(is_as_before(1)) << left_on(1);
  for (const char* name : {"c1.member", "c1.bootstrap", "c1-hub-kubeconfig-secret"})
    EXPECT_TRUE(fleet()->spoke(kHosting).get(kHostedSecrets + name).is_null()) << name;
  for (const char* name : {"c2.member", "c2.bootstrap", "c2-hub-kubeconfig-secret"})
    EXPECT_FALSE(fleet()->spoke(kHosting).get(kHostedSecrets + name).is_null()) << name;
  EXPECT_FALSE(fleet()->spoke(kHosting).get(kProgram).is_null());
  work("c2", "third");
  EXPECT_TRUE(has_map(2, "third"));
  const Ran again = unjoin("c1", "c1", {"--yes"});
  EXPECT_EQ(again.code, 0) << again.both();
  EXPECT_TRUE(list_at(again.json(), {"changes"}).empty()) << again.both();
}

TEST_F(HostedJoin, K_TheProgramGoesWithTheLastMember) {
  const Ran works_left = unjoin("c2", "c2", {"--yes"});
  EXPECT_NE(works_left.code, 0) << "its works would be orphaned";
  EXPECT_FALSE(fleet()->spoke(kHosting).get(kHostedSecrets + "c2.member").is_null()) << "nothing was done";
  const Ran left = unjoin("c2", "c2", {"--hub-context", "hub", "--allow-removals"});
  ASSERT_EQ(left.code, 0) << left.both();
  EXPECT_TRUE(is_as_before(2)) << left_on(2);
  EXPECT_TRUE(is_as_before(kHosting)) << left_on(kHosting);
}

}  // namespace
}  // namespace fleetadm::testkit
