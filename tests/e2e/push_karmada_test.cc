// join --push --karmada-names, held against what Karmada's programs wrote for the same steps (recorded): the same objects on the
// member, fewer writes, and none refused; and beside another manager in the same namespace.
#include <filesystem>
#include <gtest/gtest.h>
#include <iostream>
#include <map>
#include <set>

#include "kubeclient/base/joined.h"
#include "kubeclient/base/token_claims.h"
#include "tests/e2e/recording.h"
#include "tests/support/push_fleet.h"

namespace fleetadm::testkit {
namespace {

const std::string kKarmadaNs = "/api/v1/namespaces/karmada-cluster";
const std::string kKarmadaRoles = "/apis/rbac.authorization.k8s.io/v1/clusterroles/karmada-controller-manager:karmada-";
const std::string kKarmadaBindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/karmada-controller-manager:karmada-";

/// Of the namespace that Kubernetes fills by itself.
bool comes_with_namespaces(const std::string& name) { return name.ends_with("/default") || name.ends_with("/kube-root-ca.crt"); }

class PushKarmada : public PushFleet {
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
  static std::set<std::string> added_on(int spoke) {
    std::set<std::string> added;
    for (const std::string& name : inventory(fleet()->spoke(spoke))) {
      if (!before(spoke).contains(name) && !comes_with_namespaces(name)) added.insert(name);
    }
    return added;
  }
  static bool added_become(int spoke, const std::set<std::string>& wanted) {
    return eventually([&] { return added_on(spoke) == wanted; }, std::chrono::minutes(2));
  }
  static std::string told(const std::set<std::string>& names) { return joined({names.begin(), names.end()}, "\n"); }
  /// As m1, m2, m3.
  static Ran join_as_karmada(int spoke, std::vector<std::string> more = {}, const RunOptions& options = {}) {
    more.insert(more.begin(), {"--karmada-names", "--cluster-name", "m" + std::to_string(spoke)});
    return join("c" + std::to_string(spoke), more, options);
  }
  static std::uintmax_t& position() {
    static std::uintmax_t from;
    return from;
  }
  /// Fewer than recorded, but for `explained` ones, and none refused.
  static void expect_fewer(const std::string& what, const std::vector<std::string>& ours,
                           const std::vector<RecordedWrite>& theirs, std::size_t explained = 0) {
    std::cout << what << ": " << ours.size() << " writes of ours, " << theirs.size() << " recorded\n";
    ::testing::Test::RecordProperty(what, std::to_string(ours.size()) + " of " + std::to_string(theirs.size()));
    EXPECT_LE(ours.size(), theirs.size() + explained) << what << ":\n" << joined(ours, "\n");
    EXPECT_TRUE(refused_of(ours).empty()) << joined(refused_of(ours), "\n");
  }
  /// The states, each once, that the hub has told of a cluster before it was available.
  static std::set<std::string> states_on_the_way(const std::string& cluster, std::uintmax_t from) {
    std::set<std::string> told;
    for (const AuditEntry& entry : fleet()->hub().audit_since(from)) {
      if (!entry.is_write() || entry.resource != "managedclusters" || entry.name != cluster || entry.code != 200) continue;
      const Json& conditions = list_at(entry.response, {"status", "conditions"});
      std::string state;
      bool available = false;
      for (const Json& one : conditions) {
        available = available || (str(one, {"type"}) == "ManagedClusterConditionAvailable" && str(one, {"status"}) == "True");
        state += str(one, {"type"}) + " " + str(one, {"status"}) + " " + str(one, {"message"}) + "\n";
      }
      if (!available) told.insert(state);
    }
    return told;
  }
  /// What another control plane has made on the member under the name.
  static void make_as_karmada(int spoke, const std::string& name) {
    for (const Json& recorded : karmada_made({"join"})) {
      const Json object = parse_json(named(dump_json(recorded), name)).value();
      const std::string path = path_of_recorded(object);
      if (!fleet()->spoke(spoke).get(path).is_null()) continue;
      Json sent = object;
      sent["apiVersion"] = str(object, {"kind"}).starts_with("ClusterRole") ? "rbac.authorization.k8s.io/v1" : "v1";
      const auto made = fleet()->spoke(spoke).create(path.substr(0, path.rfind('/')), sent);
      ASSERT_EQ(made.status, 201) << made.body;
    }
  }
  static std::string named(std::string text, const std::string& name) {
    for (auto at = text.find("karmada-m1"); at != std::string::npos; at = text.find("karmada-m1", at + 1))
      text.replace(at, std::string("karmada-m1").size(), "karmada-" + name);
    return text;
  }
  /// Whether it is there as that control plane made it.
  static void expect_as_karmada(int spoke, const std::string& name) {
    for (const Json& recorded : karmada_made({"join"})) {
      const Json object = parse_json(named(dump_json(recorded), name)).value();
      const Json live = fleet()->spoke(spoke).get(path_of_recorded(object));
      ASSERT_FALSE(live.is_null()) << path_of_recorded(object);
      EXPECT_EQ(karmada_form(live), karmada_form(object));
      EXPECT_EQ(dump_json(live["metadata"].value("labels", Json::object())).find("fleetadm.io"), std::string::npos)
          << dump_json(live);
      EXPECT_TRUE(list_at(live, {"metadata", "ownerReferences"}).empty()) << dump_json(live);
    }
  }
};

TEST_F(PushKarmada, A_WhatMakesNoSenseIsRefusedAndWritesNothing) {
  const Ran alone = run({"join", "--karmada-names", "--context", "c1", "--cluster-name", "m1"});
  EXPECT_EQ(alone.code, 64) << alone.both();
  EXPECT_NE(alone.err.find("--karmada-names requires --push"), std::string::npos) << alone.both();
  const std::string stranger = fleet()->spoke(1).kubeconfig_file_for("nobody");
  const Ran no_rights = run({"join", "--push", "--karmada-names", "--context", "hub", "--member-kubeconfig", stranger,
                             "--cluster-name", "m1", "--allow-loopback"});
  EXPECT_NE(no_rights.err.find("do everything on the member cluster"), std::string::npos) << no_rights.both();
  const Ran dry = join_as_karmada(1, {"--dry-run=server"});
  EXPECT_EQ(dry.code, 0) << dry.both();
  EXPECT_EQ(told(added_on(1)), "");
  const Ran plan = run({"join", "--push", "--karmada-names", "--context", "hub", "--member-context", "c1", "--allow-loopback",
                        "--dry-run=client", "-o", "yaml"});
  ASSERT_EQ(plan.code, 0) << plan.both();
  EXPECT_NE(plan.out.find("karmada-controller-manager:karmada-c1"), std::string::npos) << plan.out;
}

TEST_F(PushKarmada, B_TheMemberHasWhatKarmadaMakes) {
  const auto from = fleet()->spoke(1).audit_position();
  const Ran joined = join_as_karmada(1, {"--wait=available"});
  ASSERT_EQ(joined.code, 0) << joined.both();
  EXPECT_EQ(str(joined.json(), {"names"}), "karmada");
  // What the works of its control plane add for callers of its proxy has its like where our gateway runs.
  std::set<std::string> wanted{"customresourcedefinitions//appliedmanifestworks.work.open-cluster-management.io"};
  for (const Json& recorded : karmada_made({"join"})) {
    const std::string path = path_of_recorded(recorded);
    const Json live = fleet()->spoke(1).get(path);
    ASSERT_FALSE(live.is_null()) << path;
    EXPECT_EQ(karmada_form(live), karmada_form(recorded)) << path;
    const std::string head = path.substr(0, path.rfind('/'));
    wanted.insert(head.substr(head.rfind('/') + 1) + "/" + namespace_of(recorded) + "/" + name_of(recorded));
  }
  EXPECT_EQ(wanted.size(), 8U);
  EXPECT_TRUE(added_become(1, wanted)) << told(added_on(1));
  const auto has_token = [](const Json& secret) { return !str(secret, {"data", "token"}).empty(); };
  for (const char* name : {"karmada-m1", "karmada-impersonator"})
    EXPECT_TRUE(fleet()->spoke(1).eventually(kKarmadaNs + "/secrets/" + name, has_token)) << name;
  const auto ours = written_by_programs(fleet()->spoke(1), from);
  const auto theirs = karmada_wrote("member", {"join"});
  expect_fewer("join, on the member", ours, theirs);
  EXPECT_LT(ours.size(), theirs.size());
}

TEST_F(PushKarmada, C_ItIsAMemberLikeAnyOther) {
  ASSERT_NO_FATAL_FAILURE(work("m1", "first"));
  EXPECT_TRUE(map_is(1, "first", true));
  const auto claims = token_claims(token_of("m1"));
  ASSERT_TRUE(claims);
  EXPECT_EQ(claims->account_namespace + "/" + claims->account, "karmada-cluster/karmada-m1");
  EXPECT_LE(claims->expires - claims->issued, std::chrono::hours(7 * 24)) << "not the one of the Secret, which does not end";
  for (const bool with_switch : {true, false}) {
    const std::string token = token_of("m1");
    const Ran again = with_switch ? join_as_karmada(1) : join("c1", {"--cluster-name", "m1"});
    ASSERT_EQ(again.code, 0) << again.both();
    EXPECT_EQ(str(again.json(), {"names"}), "karmada") << "they stay until the cluster leaves";
    for (const Json& change : list_at(again.json(), {"changes"})) EXPECT_EQ(str(change, {"action"}), "unchanged") << change;
    EXPECT_EQ(token_of("m1"), token);
  }
}

TEST_F(PushKarmada, D_OutageReturnAndCordonWriteNothingOnTheMember) {
  ASSERT_NO_FATAL_FAILURE(set_holds("m1", "1s", "1s"));
  const std::string available = "ManagedClusterConditionAvailable";
  auto hub_from = fleet()->hub().audit_position();
  const auto from = fleet()->spoke(1).audit_position();
  const auto unavailable = [](const Json& cluster) {
    return dump_json(list_at(cluster, {"spec", "taints"})).find("unavailable") != std::string::npos;
  };
  fleet()->spoke(1).stop_apiserver();
  ASSERT_TRUE(condition_becomes(fleet()->hub(), cluster_path("m1"), available, "False"));
  EXPECT_TRUE(fleet()->hub().eventually(cluster_path("m1"), unavailable));
  settle({&fleet()->hub()});
  expect_fewer("outage, on the hub", written_by_programs(fleet()->hub(), hub_from),
               karmada_wrote("hub", {"member-server-killed"}));
  hub_from = fleet()->hub().audit_position();
  const Status back = fleet()->spoke(1).start_apiserver();
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_TRUE(condition_becomes(fleet()->hub(), cluster_path("m1"), available, "True"));
  EXPECT_TRUE(fleet()->hub().eventually(cluster_path("m1"), [&](const Json& cluster) { return !unavailable(cluster); }));
  settle({&fleet()->hub()});
  // More are what is told on the way: that it answers again, and what a server that has just started answers before it takes
  // credentials and before it is ready.
  const auto starting = states_on_the_way("m1", hub_from);
  EXPECT_LE(starting.size(), 4U);
  expect_fewer("return, on the hub", written_by_programs(fleet()->hub(), hub_from),
               karmada_wrote("hub", {"member-server-returns"}), starting.size());
  hub_from = fleet()->hub().audit_position();
  for (const char* verb : {"cordon", "uncordon"}) {
    const Ran done = run({"cluster", verb, "m1", "--context", "hub", "--yes"});
    ASSERT_EQ(done.code, 0) << done.both();
  }
  // One more: the hub writes since when a taint is there, by its own clock, as tolerations for a time need it.
  constexpr std::size_t kTimeAdded = 1;
  expect_fewer("cordon and uncordon, on the hub", written_by_programs(fleet()->hub(), hub_from),
               karmada_wrote("hub", {"cordon", "uncordon"}), kTimeAdded);
  const auto recorded = karmada_wrote("member", {"member-server-killed", "member-server-returns", "cordon", "uncordon"});
  EXPECT_TRUE(recorded.empty());
  expect_fewer("outage, return, cordon, uncordon, on the member", written_by_programs(fleet()->spoke(1), from), recorded);
}

TEST_F(PushKarmada, E_UnjoinLeavesNothingWithFewerWrites) {
  ASSERT_EQ(run({"work", "delete", "first", "--clusters", "m1", "--context", "hub", "--yes", "--wait"}).code, 0);
  const auto from = fleet()->spoke(1).audit_position();
  const Ran left = unjoin("m1", {"--yes"});
  ASSERT_EQ(left.code, 0) << left.both();
  EXPECT_TRUE(added_become(1, {})) << told(added_on(1));
  const auto ours = written_by_programs(fleet()->spoke(1), from);
  const auto theirs = karmada_wrote("member", {"unjoin"});
  expect_fewer("unjoin, on the member", ours, theirs);
  EXPECT_LT(ours.size(), theirs.size());
  EXPECT_TRUE(fleet()->hub().get(cluster_path("m1")).is_null());
  EXPECT_TRUE(fleet()->hub().get(kPushSecrets + "m1").is_null());
  const Ran again = unjoin("m1", {"--yes"});
  EXPECT_EQ(again.code, 0) << again.both();
  EXPECT_TRUE(list_at(again.json(), {"changes"}).empty()) << again.both();
}

TEST_F(PushKarmada, F_AJoinRightAfterItWorksAndOneThatWasKilledIsFinished) {
  ASSERT_EQ(join_as_karmada(1).code, 0);
  ASSERT_EQ(unjoin("m1", {"--yes"}).code, 0);
  const Ran right_after = join_as_karmada(1, {"--wait=available"});
  ASSERT_EQ(right_after.code, 0) << right_after.both();
  int kills = 0;
  for (int write = 1; write < 40; ++write) {
    RunOptions options;
    options.environment = {{"FLEETADM_EXIT_AFTER_WRITES", std::to_string(write)}};
    // Whoever repeats it has not to know how it was begun.
    const Ran ran = write % 2 == 1 ? join_as_karmada(2, {}, options) : join("c2", {"--cluster-name", "m2"}, options);
    if (ran.code == 0) break;
    ++kills;
  }
  EXPECT_GT(kills, 8);
  const Ran finished = join("c2", {"--cluster-name", "m2", "--wait=available"});
  ASSERT_EQ(finished.code, 0) << finished.both();
  EXPECT_EQ(str(finished.json(), {"names"}), "karmada");
  ASSERT_NO_FATAL_FAILURE(work("m2", "first"));
  EXPECT_TRUE(map_is(2, "first", true));
  for (const Json& recorded : karmada_made({"join"})) {
    const Json object = parse_json(named(dump_json(recorded), "m2")).value();
    EXPECT_EQ(karmada_form(fleet()->spoke(2).get(path_of_recorded(object))), karmada_form(object));
  }
}

TEST_F(PushKarmada, G_ARevokedTokenIsToldAndJoiningAgainMendsIt) {
  ASSERT_NO_FATAL_FAILURE(set_holds("m2", "1s", "1s"));
  ASSERT_LT(fleet()->spoke(2).request("DELETE", kKarmadaNs + "/serviceaccounts/karmada-m2").status, 300);
  EXPECT_TRUE(ready_becomes("m2", "CredentialRefused")) << ready_reason("m2");
  const Ran again = join("c2", {"--cluster-name", "m2", "--wait=available"});
  ASSERT_EQ(again.code, 0) << again.both();
  EXPECT_TRUE(ready_becomes("m2", "ClusterReady"));
}

TEST_F(PushKarmada, H_OfADeadMemberIsToldWhatStays) {
  fleet()->spoke(2).stop_apiserver();
  const Ran forced = unjoin("m2", {"--allow-removals", "--force"});
  ASSERT_EQ(forced.code, 0) << forced.both();
  EXPECT_EQ(str(forced.json(), {"left", "namespace"}), "karmada-cluster") << forced.both();
  EXPECT_NE(forced.both().find("karmada-controller-manager:karmada-m2"), std::string::npos) << forced.both();
  const Status back = fleet()->spoke(2).start_apiserver();
  ASSERT_TRUE(back) << back.error().message;
  const Ran rest = unjoin("m2", {"--yes", "--force", "--member-context", "c2"});
  ASSERT_EQ(rest.code, 0) << rest.both();
  EXPECT_TRUE(added_become(2, {})) << told(added_on(2));
  EXPECT_TRUE(map_is(2, "first", false));
}

TEST_F(PushKarmada, I_AnotherControlPlaneThatCameFirstKeepsWhatItHas) {
  ASSERT_NO_FATAL_FAILURE(make_as_karmada(3, "theirs"));
  const Ran taken = join("c3", {"--karmada-names", "--cluster-name", "theirs"});
  EXPECT_NE(taken.code, 0);
  EXPECT_NE(taken.err.find("another manager's under the name"), std::string::npos) << taken.both();
  const Ran joined = join_as_karmada(3, {"--wait=available"});
  ASSERT_EQ(joined.code, 0) << joined.both();
  ASSERT_NO_FATAL_FAILURE(expect_as_karmada(3, "theirs"));
  const Ran left = unjoin("m3", {"--yes"});
  ASSERT_EQ(left.code, 0) << left.both();
  const auto gone = [](const Json& object) { return object.is_null(); };
  for (const std::string& path : {kKarmadaRoles + "m3", kKarmadaBindings + "m3", kKarmadaNs + "/serviceaccounts/karmada-m3",
                                  kKarmadaNs + "/secrets/karmada-m3"})
    EXPECT_TRUE(fleet()->spoke(3).eventually(path, gone, std::chrono::minutes(2))) << path;
  ASSERT_NO_FATAL_FAILURE(expect_as_karmada(3, "theirs"));
}

TEST_F(PushKarmada, J_AnotherControlPlaneThatCameLaterKeepsWhatItUses) {
  ASSERT_EQ(fleet()->spoke(1).get(kKarmadaNs).is_null(), false) << "of the member of F";
  ASSERT_NO_FATAL_FAILURE(make_as_karmada(1, "theirs"));
  const Ran left = unjoin("m1", {"--orphan", "--yes"});
  ASSERT_EQ(left.code, 0) << left.both();
  const auto gone = [](const Json& object) { return object.is_null(); };
  for (const std::string& path : {kKarmadaRoles + "m1", kKarmadaBindings + "m1", kKarmadaNs + "/serviceaccounts/karmada-m1"})
    EXPECT_TRUE(fleet()->spoke(1).eventually(path, gone, std::chrono::minutes(2))) << path;
  ASSERT_NO_FATAL_FAILURE(expect_as_karmada(1, "theirs"));
  const Ran back = join_as_karmada(1, {"--wait=available"});
  EXPECT_EQ(back.code, 0) << back.both();
}

TEST_F(PushKarmada, K_ItsTokenIsRenewed) {
  const std::string before = token_of("m1");
  const auto library = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libshifted_clock.so";
  ASSERT_TRUE(std::filesystem::exists(library)) << library;
  controllers().reset();
  sandbox::ChildSpec later;  // when four fifths of its life are over
  later.program = Fleet::binary();
  later.args = {"hub", "run", "--push", "--kubeconfig", fleet()->hub().kubeconfig_file(), "--leader-elect=false"};
  later.environment = {"HOME=" + fleet()->folder().path().string(), "PATH=/usr/bin:/bin", "LD_PRELOAD=" + library.string(),
                       "FLEETADM_TEST_CLOCK_SHIFT=" + std::to_string(6 * 24 * 3600)};
  later.output_file = (fleet()->folder().path() / "later.log").string();
  auto child = sandbox::Child::start(later);
  ASSERT_TRUE(child) << child.error().message;
  controllers().emplace(std::move(*child));
  EXPECT_TRUE(eventually([&] { return token_of("m1") != before; })) << read_file(later.output_file);
  const auto claims = token_claims(token_of("m1"));
  ASSERT_TRUE(claims);
  EXPECT_EQ(claims->account, "karmada-m1");
}

}  // namespace
}  // namespace fleetadm::testkit
