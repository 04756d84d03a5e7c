// join --push: clusters on which nothing runs and that the hub dials, from the first command to the last, beside the fleet's
// other ways. The hub's controllers have no more rights than `init --push` gives them.
#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <thread>

#include "kubeclient/base/token_claims.h"
#include "tests/support/push_fleet.h"

namespace fleetadm::testkit {
namespace {

class PushJoin : public PushFleet {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(3, false));
    for (int i = 1; i <= 3; ++i) before(i) = inventory(fleet()->spoke(i));
    ASSERT_NO_FATAL_FAILURE(begin_hub());
  }
  static std::set<std::string>& before(int i) {
    static std::map<int, std::set<std::string>> names;
    return names[i];
  }
  /// What differs now from before the first join; empty: nothing.
  static std::string left_on(int spoke) {
    std::string text;
    eventually(
        [&] {
          text.clear();
          for (const std::string& name : inventory(fleet()->spoke(spoke))) {
            if (!before(spoke).contains(name)) text += name + "\n";
          }
          return text.empty();
        },
        std::chrono::minutes(2));  // controllers of a server that was away come back slowly
    return text;
  }
};

TEST_F(PushJoin, A_WhatIsCheckedFirstIsToldAndWritesNothing) {
  const Ran loopback = run({"join", "--push", "--context", "hub", "--member-context", "c1"});
  EXPECT_EQ(loopback.code, 64) << loopback.both();
  EXPECT_NE(loopback.err.find("--allow-loopback"), std::string::npos) << loopback.both();
  const std::string stranger = fleet()->spoke(1).kubeconfig_file_for("nobody");
  const Ran no_rights =
      run({"join", "--push", "--context", "hub", "--member-kubeconfig", stranger, "--cluster-name", "c1", "--allow-loopback"});
  EXPECT_NE(no_rights.code, 0);
  EXPECT_NE(no_rights.err.find("your identity may not create namespaces"), std::string::npos) << no_rights.both();
  const Ran hub_itself = join("hub");
  EXPECT_NE(hub_itself.err.find("the member is the hub itself"), std::string::npos) << hub_itself.both();
  const Ran dry = join("c1", {"--dry-run=server"});
  ASSERT_EQ(dry.code, 0) << dry.both();
  EXPECT_EQ(left_on(1), "");
  EXPECT_TRUE(fleet()->hub().get(cluster_path("c1")).is_null());
}

TEST_F(PushJoin, B_AMemberIsAvailableAndTakesWorks) {
  const Ran joined = join("c1", {"--labels", "env=prod", "--wait=available"});
  ASSERT_EQ(joined.code, 0) << joined.both();
  const Json cluster = fleet()->hub().get(cluster_path("c1"));
  EXPECT_EQ(label_of(cluster, "env"), "prod");
  EXPECT_EQ(label_of(cluster, "fleetadm.io/mode"), "push");
  EXPECT_EQ(str(cluster["spec"]["managedClusterClientConfigs"][0], {"url"}), fleet()->spoke(1).url());
  EXPECT_FALSE(str(cluster, {"status", "version", "kubernetes"}).empty());
  EXPECT_EQ(ready_reason("c1"), "ClusterReady");
  work("c1", "first");
  EXPECT_TRUE(map_is(1, "first", true));
  EXPECT_TRUE(
      fleet()->hub().eventually("/apis/coordination.k8s.io/v1/namespaces/c1/leases/managed-cluster-lease", [](const Json& lease) {
        return !str(lease, {"spec", "renewTime"}).empty();
      }));
  EXPECT_EQ(joined.both().find(token_of("c1")), std::string::npos);
}

TEST_F(PushJoin, C_TheHubHasATokenOfItsOwnAccountAndNoMore) {
  const auto claims = token_claims(token_of("c1"));
  ASSERT_TRUE(claims);
  EXPECT_EQ(claims->account, "fleetadm-push");
  EXPECT_LE(claims->expires - claims->issued, std::chrono::hours(7 * 24));
  const Json secret = fleet()->hub().get(kPushSecrets + "c1");
  EXPECT_EQ(base64_decode(str(secret, {"data", "kubeconfig"}))->find("client-certificate"), std::string::npos);
  // Nothing on the member speaks to the hub, so nobody of that name has rights there.
  EXPECT_TRUE(
      fleet()->hub().get("/apis/rbac.authorization.k8s.io/v1/clusterroles/open-cluster-management:managedcluster:c1").is_null());
}

TEST_F(PushJoin, D_JoiningAgainChangesNothing) {
  const std::string token = token_of("c1");
  const Ran again = join("c1", {"--labels", "env=prod"});
  ASSERT_EQ(again.code, 0) << again.both();
  for (const Json& change : list_at(again.json(), {"changes"})) EXPECT_EQ(str(change, {"action"}), "unchanged") << change;
  EXPECT_EQ(token_of("c1"), token);
}

TEST_F(PushJoin, E_AClusterIsAMemberOnceAndUnderOneName) {
  const Ran second = join("c1", {"--cluster-name", "other"});
  EXPECT_NE(second.err.find("already a member of the hub as \\\"c1\\\""), std::string::npos) << second.both();
  const Ran taken = join("c2", {"--cluster-name", "c1"});
  EXPECT_NE(taken.err.find("is that of another cluster"), std::string::npos) << taken.both();
  EXPECT_EQ(left_on(2), "");
}

TEST_F(PushJoin, F_AKilledJoinIsFinishedByTheNext) {
  int kills = 0;
  for (int write = 1; write < 40; ++write) {
    RunOptions options;
    options.environment = {{"FLEETADM_EXIT_AFTER_WRITES", std::to_string(write)}};
    if (join("c2", {}, options).code == 0) break;
    ++kills;
  }
  EXPECT_GT(kills, 10);
  const Ran joined = join("c2", {"--wait=available"});
  ASSERT_EQ(joined.code, 0) << joined.both();
  work("c2", "first");
  EXPECT_TRUE(map_is(2, "first", true));
}

TEST_F(PushJoin, G_WhatFailsLeavesNothing) {
  const Json foreign{{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", {{"name", "c3"}}}};
  ASSERT_EQ(fleet()->hub().create("/api/v1/namespaces/open-cluster-management-push/secrets", foreign).status, 201);
  const Ran refused = join("c3");
  EXPECT_NE(refused.err.find("was not made by fleetadm"), std::string::npos) << refused.both();
  EXPECT_EQ(left_on(3), "");
  ASSERT_LT(fleet()->hub().request("DELETE", kPushSecrets + "c3").status, 300);
  // A namespace of somebody else where ours would be: found out only while things are made.
  const std::string hub_id = uid_of(fleet()->hub().get("/api/v1/namespaces/kube-system"));
  const std::string role = "open-cluster-management:fleetadm-push-" + hub_id.substr(0, 8) + ":works";
  const std::string roles = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
  const Json binding{{"apiVersion", "rbac.authorization.k8s.io/v1"},
                     {"kind", "ClusterRoleBinding"},
                     {"metadata", {{"name", role}}},
                     {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", "view"}}}};
  ASSERT_EQ(fleet()->spoke(3).create(roles, binding).status, 201);
  const Ran half = join("c3");
  EXPECT_NE(half.err.find("was not made by this hub"), std::string::npos) << half.both();
  ASSERT_LT(fleet()->spoke(3).request("DELETE", roles + "/" + role).status, 300);
  EXPECT_EQ(left_on(3), "");
  EXPECT_TRUE(fleet()->hub().get(kPushSecrets + "c3").is_null());
  EXPECT_TRUE(fleet()->hub().get(cluster_path("c3")).is_null());
}

TEST_F(PushJoin, H_ARevokedTokenIsToldAndJoiningAgainMendsIt) {
  const std::string account = "/serviceaccounts/fleetadm-push";
  const std::string hub_id = uid_of(fleet()->hub().get("/api/v1/namespaces/kube-system"));
  const std::string ns = "/api/v1/namespaces/fleetadm-push-" + hub_id.substr(0, 8);
  ASSERT_NO_FATAL_FAILURE(set_holds("c1", "1s", "1s"));
  ASSERT_LT(fleet()->spoke(1).request("DELETE", ns + account).status, 300);
  EXPECT_TRUE(ready_becomes("c1", "CredentialRefused")) << ready_reason("c1");
  EXPECT_TRUE(condition_becomes(fleet()->hub(), cluster_path("c1"), "ManagedClusterConditionAvailable", "False"));
  const Ran again = join("c1", {"--wait=available"});
  ASSERT_EQ(again.code, 0) << again.both();
  EXPECT_TRUE(ready_becomes("c1", "ClusterReady"));
  work("c1", "second");
  EXPECT_TRUE(map_is(1, "second", true)) << "with the token of the new account";
}

TEST_F(PushJoin, I_AnOutageIsToldAfterItsHoldAndHeldOverARestartOfTheHub) {
  ASSERT_NO_FATAL_FAILURE(set_holds("c2", "8s", "2s"));
  const auto responding = [](const char* status) {
    return condition_becomes(fleet()->hub(), cluster_path("c2"), "Responding", status);
  };
  const std::string available = "ManagedClusterConditionAvailable";
  fleet()->spoke(2).stop_apiserver();
  ASSERT_TRUE(responding("False"));
  EXPECT_EQ(condition(fleet()->hub(), cluster_path("c2"), available), "True");
  ASSERT_NO_FATAL_FAILURE(begin_controllers());
  EXPECT_TRUE(condition_becomes(fleet()->hub(), cluster_path("c2"), available, "False"));
  EXPECT_EQ(ready_reason("c2"), "ClusterNotReachable");
  EXPECT_TRUE(fleet()->hub().eventually(cluster_path("c2"), [](const Json& cluster) {
    return dump_json(cluster).find("cluster.open-cluster-management.io/unavailable") != std::string::npos;
  }));
  EXPECT_EQ(condition(fleet()->hub(), cluster_path("c1"), available), "True");
  const Status back = fleet()->spoke(2).start_apiserver();
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(condition_becomes(fleet()->hub(), cluster_path("c2"), available, "True"));
  work("c2", "back");
  EXPECT_TRUE(map_is(2, "back", true));
}

TEST_F(PushJoin, I_ARecoveryIsHeldOverARestartOfTheHub) {
  const std::string available = "ManagedClusterConditionAvailable";
  ASSERT_NO_FATAL_FAILURE(set_holds("c2", "1s", "12s"));
  fleet()->spoke(2).stop_apiserver();
  ASSERT_TRUE(condition_becomes(fleet()->hub(), cluster_path("c2"), available, "False"));
  const Status back = fleet()->spoke(2).start_apiserver();
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_TRUE(condition_becomes(fleet()->hub(), cluster_path("c2"), "Responding", "True"));
  const auto recovered = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::seconds(5));
  EXPECT_EQ(condition(fleet()->hub(), cluster_path("c2"), available), "False");
  ASSERT_NO_FATAL_FAILURE(begin_controllers());
  EXPECT_TRUE(condition_becomes(fleet()->hub(), cluster_path("c2"), available, "True"));
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - recovered).count();
  EXPECT_GE(took, 10.5) << "the hold of 12 s, whose begin is told in whole seconds";
  EXPECT_LE(took, 16.0) << "counted from when it came back, not from the restart";
}

TEST_F(PushJoin, J_UnjoinWithTheHubsOwnCredentialLeavesNothing) {
  const Ran left = unjoin("c1", {"--allow-removals"});
  ASSERT_EQ(left.code, 0) << left.both();
  EXPECT_TRUE(map_is(1, "first", false));
  EXPECT_EQ(left_on(1), "");
  EXPECT_TRUE(fleet()->hub().get(cluster_path("c1")).is_null());
  EXPECT_TRUE(fleet()->hub().get(kPushSecrets + "c1").is_null());
  const Ran again = unjoin("c1", {"--yes"});
  EXPECT_EQ(again.code, 0) << again.both();
  EXPECT_TRUE(list_at(again.json(), {"changes"}).empty()) << again.both();
  const Ran back = join("c1", {"--wait=available"});
  EXPECT_EQ(back.code, 0) << "right after it; " << back.both();
}

TEST_F(PushJoin, J_AKilledUnjoinIsFinishedByTheNextAndTheClusterIsListedUntilThen) {
  work("c1", "again");
  ASSERT_TRUE(map_is(1, "again", true));
  int kills = 0;
  for (int write = 1; write < 20; ++write) {
    RunOptions options;
    options.environment = {{"FLEETADM_EXIT_AFTER_WRITES", std::to_string(write)}};
    if (unjoin("c1", {"--allow-removals"}, options).code == 0) break;
    ++kills;
    const bool listed = !fleet()->hub().get(cluster_path("c1")).is_null();
    EXPECT_TRUE(listed || fleet()->hub().get(kPushSecrets + "c1").is_null()) << "a credential of a cluster that nobody sees";
  }
  EXPECT_GT(kills, 3);
  EXPECT_EQ(left_on(1), "");
  EXPECT_TRUE(fleet()->hub().get(cluster_path("c1")).is_null());
  EXPECT_TRUE(fleet()->hub().get(kPushSecrets + "c1").is_null());
  EXPECT_TRUE(map_is(1, "again", false));
}

TEST_F(PushJoin, K_UnjoinOfADeadMemberTellsWhatStays) {
  fleet()->spoke(2).stop_apiserver();
  const Ran refused = unjoin("c2", {"--allow-removals"});
  EXPECT_NE(refused.code, 0);
  EXPECT_NE(refused.err.find("--force"), std::string::npos) << refused.both();
  EXPECT_FALSE(fleet()->hub().get(cluster_path("c2")).is_null()) << "nothing was done";
  const Ran forced = unjoin("c2", {"--allow-removals", "--force"});
  ASSERT_EQ(forced.code, 0) << forced.both();
  EXPECT_TRUE(fleet()->hub().get(cluster_path("c2")).is_null());
  EXPECT_TRUE(fleet()->hub().get(kPushSecrets + "c2").is_null());
  EXPECT_EQ(string_list_at(forced.json(), {"left", "works"}), (std::vector<std::string>{"back", "first"})) << forced.both();
  const Status back = fleet()->spoke(2).start_apiserver();
  ASSERT_TRUE(back) << back.error().message;
  const Ran rest = unjoin("c2", {"--yes", "--force", "--member-context", "c2"});
  ASSERT_EQ(rest.code, 0) << rest.both();
  EXPECT_EQ(left_on(2), "");
  EXPECT_TRUE(map_is(2, "first", false));
}

TEST_F(PushJoin, L_ANewMemberTakesNoMoreWritesThanItMust) {
  const auto writes = [](const KubeServer& server, std::uintmax_t since) {
    std::vector<std::string> lines;
    for (const AuditEntry& one : server.audit_since(since)) {
      const bool asks = one.uri.find("reviews") != one.uri.npos;
      const bool of_hub_itself = one.uri.find("/namespaces/open-cluster-management-hub/leases") != one.uri.npos;
      const bool of_others = one.uri.find("/c1/") != one.uri.npos || one.uri.find("/c2/") != one.uri.npos;
      if (!one.is_write() || asks || of_hub_itself || of_others) continue;
      lines.push_back(std::to_string(one.code) + " " + one.verb + " " + one.uri);
    }
    return lines;
  };
  const Ran other = join("c1", {"--wait=available"});
  ASSERT_EQ(other.code, 0) << other.both();
  // The hub's first member brings what all share: the sets and roles.
  const auto is_at_rest = [&] {
    const auto since = fleet()->hub().audit_position();
    std::this_thread::sleep_for(std::chrono::seconds(3));
    const Json all = fleet()->hub().get("/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets/global");
    return !list_at(all, {"status", "conditions"}).empty() && writes(fleet()->hub(), since).empty();
  };
  // A member that answers late is told in two statuses, the first without its figures or without what the hub knows of it. So may
  // one on a busy machine, which then joins once more.
  constexpr std::size_t kOfCommand = 3;
  constexpr std::size_t kOfControllers = 6;
  std::size_t statuses = 0;
  for (int tries = 0; tries < 3 && statuses != 1; ++tries) {
    if (tries > 0) {
      ASSERT_EQ(unjoin("c3", {"--yes"}).code, 0);
    }
    ASSERT_TRUE(eventually(is_at_rest, std::chrono::minutes(1)));
    const auto begun_hub = fleet()->hub().audit_position();
    const auto begun_member = fleet()->spoke(3).audit_position();
    const Ran joined = join("c3", {"--wait=available"});
    ASSERT_EQ(joined.code, 0) << joined.both();
    std::this_thread::sleep_for(std::chrono::seconds(5));
    const auto on_hub = writes(fleet()->hub(), begun_hub);
    const auto on_member = writes(fleet()->spoke(3), begun_member);
    for (const auto* lines : {&on_hub, &on_member}) {
      for (const std::string& line : *lines) EXPECT_TRUE(line.starts_with("20")) << "refused: " << line;
    }
    EXPECT_EQ(on_member.size(), 9U) << testing::PrintToString(on_member);
    statuses = static_cast<std::size_t>(
        std::ranges::count_if(on_hub, [](const std::string& line) { return line.find("/c3/status") != line.npos; }));
    EXPECT_LE(statuses, 2U) << testing::PrintToString(on_hub);
    EXPECT_EQ(on_hub.size(), kOfCommand + kOfControllers + statuses - 1)
        << "of the command, and of the controllers: " << testing::PrintToString(on_hub);
  }
  EXPECT_EQ(statuses, 1U) << "in none of three times it was told at once";
}

TEST_F(PushJoin, M_FiguresAreThoseOfNodesAndPods) {
  const KubeServer& member = fleet()->spoke(3);
  const auto node = [&](const std::string& name, bool cordoned, const char* ready) {
    const Json object{
        {"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", name}}}, {"spec", {{"unschedulable", cordoned}}}};
    ASSERT_EQ(member.create("/api/v1/nodes", object).status, 201);
    const Json amounts{{"cpu", "4"}, {"memory", "8Gi"}, {"pods", "110"}};
    const Json condition{{"type", "Ready"}, {"status", ready}, {"reason", "Test"}, {"message", ""}};
    const Json status{{"status", {{"capacity", amounts}, {"allocatable", amounts}, {"conditions", Json::array({condition})}}}};
    const auto set =
        member.request("PATCH", "/api/v1/nodes/" + name + "/status", dump_json(status), "application/merge-patch+json");
    ASSERT_EQ(set.status, 200) << set.body;
  };
  const auto container = [](const std::string& name, const Json& requests) {
    return Json{{"name", name}, {"image", "x"}, {"resources", {{"requests", requests}, {"limits", requests}}}};
  };
  const auto pod = [&](const std::string& name, Json spec) {
    spec["schedulerName"] = "nobody";
    const Json object{{"apiVersion", "v1"},
                      {"kind", "Pod"},
                      {"metadata", {{"name", name}, {"namespace", "default"}}},
                      {"spec", std::move(spec)}};
    const auto made = member.create("/api/v1/namespaces/default/pods", object);
    ASSERT_EQ(made.status, 201) << made.body;
  };
  ASSERT_NO_FATAL_FAILURE(node("n1", false, "True"));
  ASSERT_NO_FATAL_FAILURE(node("n2", true, "True"));
  ASSERT_NO_FATAL_FAILURE(node("n3", false, "False"));
  ASSERT_NO_FATAL_FAILURE(pod("a", {{"nodeName", "n1"}, {"containers", Json::array({container("a", {{"cpu", "500m"}})})}}));
  ASSERT_NO_FATAL_FAILURE(
      pod("b", {{"nodeName", "n1"},
                {"containers", Json::array({container("b", {{"cpu", "100m"}})})},
                {"initContainers", Json::array({container("i", {{"cpu", "2"}}), container("j", {{"cpu", "3"}})})}}));
  ASSERT_NO_FATAL_FAILURE(pod("c", {{"containers", Json::array({container("c", {{"cpu", "1"}, {"example.com/gpu", "1"}})})}}));
  ASSERT_NO_FATAL_FAILURE(pod("d", {{"nodeName", "n1"}, {"containers", Json::array({container("d", {{"cpu", "7"}})})}}));
  const auto ended = member.request("PATCH", "/api/v1/namespaces/default/pods/d/status", R"({"status":{"phase":"Succeeded"}})",
                                    "application/merge-patch+json");
  ASSERT_EQ(ended.status, 200) << ended.body;
  const std::map<std::string, std::string> wanted{{"cpu", "12"},
                                                  {"nodes.fleetadm.io/total", "3"},
                                                  {"nodes.fleetadm.io/ready", "2"},
                                                  {"allocated.fleetadm.io/cpu", "3500m"},
                                                  {"allocated.fleetadm.io/pods", "2"},
                                                  {"allocating.fleetadm.io/cpu", "1"},
                                                  {"allocating.fleetadm.io/example.com/gpu", "1"},
                                                  {"allocating.fleetadm.io/pods", "1"}};
  const auto figures = [] {
    auto told = strings_at(fleet()->hub().get(cluster_path("c3")), {"status", "capacity"});
    told.erase("memory");
    told.erase("pods");
    return told;
  };
  EXPECT_TRUE(eventually([&] { return figures() == wanted; }, std::chrono::seconds(40)))
      << dump_json(fleet()->hub().get(cluster_path("c3"))["status"]);
  EXPECT_EQ(str(fleet()->hub().get(cluster_path("c3")), {"status", "allocatable", "cpu"}), "8") << "without the cordoned node";

  // A member at rest is not looked at as closely. What changes is told all the same.
  ASSERT_NO_FATAL_FAILURE(begin_controllers({"--probe-period=2s"}));
  const auto rest = [] { std::this_thread::sleep_for(std::chrono::seconds(5)); };
  const auto figure_becomes = [&](const std::string& name, const std::string& value) {
    return eventually([&] { return figures()[name] == value; }, std::chrono::seconds(20));
  };
  rest();
  const auto gone = member.request("DELETE", "/api/v1/namespaces/default/pods/a?gracePeriodSeconds=0");
  ASSERT_EQ(gone.status, 200) << gone.body;
  EXPECT_TRUE(figure_becomes("allocated.fleetadm.io/cpu", "3"));
  rest();
  ASSERT_EQ(member.request("DELETE", "/api/v1/nodes/n3").status, 200);
  EXPECT_TRUE(figure_becomes("nodes.fleetadm.io/total", "2"));
}

}  // namespace
}  // namespace fleetadm::testkit
