// Members that the hub dials, through its gateway: with the same commands, checks and answers as those that have an agent.
#include <gtest/gtest.h>

#include "tests/support/push_fleet.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::seconds;

constexpr std::string_view kDialedMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::string_view kGatewaySecrets = "/api/v1/namespaces/open-cluster-management-push/secrets";

class PushGateway : public PushFleet {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(2, true));
    const Ran made = run({"init", "--push", "--gateway", "--context", "hub", "--wait", "-o", "json"});
    ASSERT_EQ(made.code, 0) << made.both();
    const Ran joined = join("c1", {"--wait=available"});
    ASSERT_EQ(joined.code, 0) << joined.both();
    ASSERT_EQ(run({"join", "--context", "c2", "--cluster-name", "c2", "--hub-apiserver", str(made.json(), {"hub-apiserver"}),
                   "--hub-token", str(made.json(), {"hub-token"}), "--ca-cert-hash", str(made.json(), {"ca-cert-hash"})})
                  .code,
              0);
    const Ran accepted = run({"accept", "c2", "--context", "hub", "--yes", "--wait"});
    ASSERT_EQ(accepted.code, 0) << accepted.both();
    const Json use{{"apiGroups", {"proxy.open-cluster-management.io"}}, {"resources", {"clusters/proxy"}}, {"verbs", {"*"}}};
    ASSERT_NO_FATAL_FAILURE(allow_carol(fleet()->hub(), use));
    const Json maps{{"apiGroups", {""}}, {"resources", {"configmaps"}}, {"verbs", {"*"}}};
    for (const int spoke : {1, 2}) {
      ASSERT_NO_FATAL_FAILURE(allow_carol(fleet()->spoke(spoke), maps));
      const Json map{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "proxied"}}}};
      ASSERT_EQ(fleet()->spoke(spoke).create(std::string(kDialedMaps), map).status, 201);
    }
    carol() = fleet()->hub().kubeconfig_file_for("carol");
  }
  static std::string& carol() {
    static std::string file;
    return file;
  }
  static Ran as_carol(std::vector<std::string> args, const RunOptions& options = {}) {
    args.insert(args.begin(), {"--kubeconfig", carol()});
    return run(args, options);
  }
  static bool both_answer() {
    return eventually([] { return as_carol({"proxy", "health", "--clusters", "c1,c2"}).code == 0; }, seconds(90));
  }
};

TEST_F(PushGateway, A_BothKindsOfMembersAreReachedAlike) {
  ASSERT_TRUE(both_answer()) << as_carol({"proxy", "health"}).both();
  const Ran got = as_carol({"get", "cm", "--clusters", "c1,c2", "-o", "name"});
  EXPECT_EQ(got.code, 0) << got.both();
  for (const char* line : {"c1/configmap/proxied\n", "c2/configmap/proxied\n"})
    EXPECT_NE(got.out.find(line), std::string::npos) << got.out;
  const Ran refused = as_carol({"get", "secrets", "--cluster", "c1"});
  EXPECT_EQ(refused.code, 4) << refused.both();
  EXPECT_NE(refused.err.find("User \"carol\" cannot list resource \"secrets\""), std::string::npos) << refused.err;
}

TEST_F(PushGateway, B_OtherProgramsGetAConnectionThatWorks) {
  ASSERT_TRUE(both_answer());
  const Ran ran = as_carol({"proxy", "kubectl", "--cluster", "c1", "--", "version", "-o", "json"},
                           {.environment = {{"FLEETADM_KUBECTL", Fleet::binary()}}});
  EXPECT_EQ(ran.code, 0) << ran.both();
  const Ran printed = as_carol({"proxy", "kubeconfig", "--cluster", "c1"});
  ASSERT_EQ(printed.code, 0) << printed.both();
  const Ran version = run({"version", "--kubeconfig", fleet()->folder().write("c1.kubeconfig", printed.out)});
  EXPECT_EQ(version.code, 0) << version.both();
}

TEST_F(PushGateway, C_TheMemberSeesTheCallerAndNobodyElseMayActThere) {
  ASSERT_TRUE(both_answer());
  const KubeServer& member = fleet()->spoke(1);
  const auto from = member.audit_position();
  EXPECT_EQ(as_carol({"get", "cm", "--cluster", "c1"}).code, 0);
  const auto of_carol = [](const AuditEntry& one) {
    return one.acting() == "carol" && one.uri.starts_with(kDialedMaps.substr(0, 7));
  };
  EXPECT_FALSE(member.audit_since(from, of_carol).empty());
  // Not as the user that applies works, whoever asks for it, nor as the account that once did.
  const std::string hub_id = uid_of(fleet()->hub().get("/api/v1/namespaces/kube-system"));
  const std::string ns = "fleetadm-push-" + hub_id.substr(0, 8);
  for (const std::string& acting : {"cluster:hub:" + ns + ":works", "system:serviceaccount:" + ns + ":fleetadm-push-work"}) {
    const Ran as_works = run({"get", "cm", "--cluster", "c1", "--context", "hub", "--as", acting});
    EXPECT_NE(as_works.code, 0) << as_works.both();
    EXPECT_EQ(as_works.out.find("proxied"), std::string::npos) << as_works.both();
  }
  const std::string role =
      "/apis/rbac.authorization.k8s.io/v1/clusterroles/open-cluster-management:fleetadm-push-" + hub_id.substr(0, 8) + ":proxy";
  const Json granted = member.get(role);
  ASSERT_FALSE(granted.is_null());
  EXPECT_NE(dump_json(granted).find("carol"), std::string::npos);
  EXPECT_TRUE(
      member.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/open-cluster-management:fleetadm-agent-proxy").is_null())
      << "there is no agent";
}

TEST_F(PushGateway, D_TheGatewayReadsCredentialsByNameAlone) {
  const auto gateway_may = [](const std::string& verb, const std::string& name) {
    Json what{
        {"verb", verb}, {"group", ""}, {"version", "v1"}, {"resource", "secrets"}, {"namespace", "open-cluster-management-push"}};
    if (!name.empty()) what["name"] = name;
    const Json review{{"apiVersion", "authorization.k8s.io/v1"},
                      {"kind", "SubjectAccessReview"},
                      {"spec",
                       {{"user", "system:serviceaccount:open-cluster-management-hub:fleetadm-gateway"},
                        {"resourceAttributes", std::move(what)}}}};
    return flag(fleet()->hub().create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review).json(),
                {"status", "allowed"});
  };
  EXPECT_TRUE(gateway_may("get", "c1"));
  for (const char* verb : {"list", "watch", "update", "patch", "delete", "create"}) EXPECT_FALSE(gateway_may(verb, {})) << verb;
  ASSERT_TRUE(both_answer());
  const auto lists = fleet()->hub().audit_since(0, [](const AuditEntry& one) {
    return one.user.ends_with(":fleetadm-gateway") && one.uri.starts_with(kGatewaySecrets) && one.verb != "get";
  });
  EXPECT_TRUE(lists.empty());
}

TEST_F(PushGateway, E_ARevokedTokenIsSaidAndJoiningAgainMendsIt) {
  ASSERT_TRUE(both_answer());
  const std::string hub_id = uid_of(fleet()->hub().get("/api/v1/namespaces/kube-system"));
  const std::string account = "/api/v1/namespaces/fleetadm-push-" + hub_id.substr(0, 8) + "/serviceaccounts/fleetadm-push";
  ASSERT_NO_FATAL_FAILURE(set_holds("c1", "20s", "1s"));
  ASSERT_LT(fleet()->spoke(1).request("DELETE", account).status, 300);
  Ran told;
  EXPECT_TRUE(eventually(
      [&] {
        told = as_carol({"get", "cm", "--cluster", "c1"});
        return told.code != 0 && told.err.find("credential") != std::string::npos;
      },
      seconds(60)))
      << told.both();
  EXPECT_EQ(told.both().find(token_of("c1")), std::string::npos);
  const Ran mended = join("c1", {"--wait=available"});
  ASSERT_EQ(mended.code, 0) << mended.both();
  EXPECT_TRUE(both_answer());
}

TEST_F(PushGateway, F_WhatIsKnownToBeDownIsToldAtOnce) {
  ASSERT_TRUE(both_answer());
  ASSERT_NO_FATAL_FAILURE(set_holds("c1", "1s", "1s"));
  fleet()->spoke(1).stop_apiserver();
  EXPECT_TRUE(condition_becomes(fleet()->hub(), cluster_path("c1"), "ManagedClusterConditionAvailable", "False"));
  Ran told;
  EXPECT_TRUE(eventually(
      [&] {
        told = as_carol({"get", "cm", "--cluster", "c1"});
        return told.err.find("is down for") != std::string::npos;
      },
      seconds(20)))
      << told.both();
  const Ran tried = as_carol({"get", "cm", "--cluster", "c1", "--ignore-availability"});
  EXPECT_NE(tried.code, 0);
  EXPECT_EQ(tried.err.find("is down for"), std::string::npos) << tried.both();
  const Ran both = as_carol({"get", "cm", "--clusters", "c1,c2", "-o", "name"});
  EXPECT_EQ(both.code, 3) << both.both();
  EXPECT_NE(both.out.find("c2/configmap/proxied\n"), std::string::npos) << both.out;
  const Status back = fleet()->spoke(1).start_apiserver();
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(both_answer());
}

TEST_F(PushGateway, G_UnjoinTakesTheRightsAwayWhateverElseStays) {
  ASSERT_TRUE(both_answer());
  ASSERT_NO_FATAL_FAILURE(work("c1", "stays"));
  ASSERT_TRUE(map_is(1, "stays", true));
  const Ran left = unjoin("c1", {"--orphan", "--yes"});
  ASSERT_EQ(left.code, 0) << left.both();
  const Ran gone = as_carol({"get", "cm", "--cluster", "c1"});
  EXPECT_NE(gone.code, 0);
  EXPECT_TRUE(map_is(1, "stays", true));
  for (const char* kind : {"clusterroles", "clusterrolebindings"}) {
    const auto path = std::string("/apis/rbac.authorization.k8s.io/v1/") + kind;
    for (const Json& one : list_at(fleet()->spoke(1).get(path), {"items"}))
      EXPECT_FALSE(name_of(one).ends_with(":proxy")) << kind << " " << name_of(one);
  }
}

TEST_F(PushGateway, H_WithKarmadasNamesTheMemberSeesTheCallerToo) {
  const Ran joined = join("c1", {"--karmada-names", "--wait=available"});
  ASSERT_EQ(joined.code, 0) << joined.both();
  ASSERT_TRUE(both_answer()) << as_carol({"proxy", "health"}).both();
  const Ran got = as_carol({"get", "cm", "--cluster", "c1", "-o", "name"});
  EXPECT_EQ(got.code, 0) << got.both();
  const Ran refused = as_carol({"get", "secrets", "--cluster", "c1"});
  EXPECT_EQ(refused.code, 4) << refused.both();
  EXPECT_NE(refused.err.find("User \"carol\" cannot list resource \"secrets\""), std::string::npos) << refused.err;
  const std::string hub_id = uid_of(fleet()->hub().get("/api/v1/namespaces/kube-system"));
  const std::string binding = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/open-cluster-management:fleetadm-push-" +
                              hub_id.substr(0, 8) + ":proxy";
  EXPECT_TRUE(fleet()->spoke(1).eventually(binding,
                                           [](const Json& it) {
                                             const Json& subjects = list_at(it, {"subjects"});
                                             return subjects.size() == 1 && str(subjects.front(), {"name"}) == "karmada-c1";
                                           }))
      << "nobody of another name has these rights: " << dump_json(fleet()->spoke(1).get(binding));
  const Ran left = unjoin("c1", {"--allow-removals"});
  EXPECT_EQ(left.code, 0) << left.both();
}

/// On sandboxes, whose pods have logs and run commands.
class PushStreams : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    slot() = std::make_unique<TemporaryFolder>("push-streams");
    ASSERT_NO_FATAL_FAILURE(make_fleet());
  }
  static void TearDownTestSuite() {
    if (slot()) {
      for (const char* sandbox : {"far", "near"}) fleetadm({"sandbox", "down", sandbox});
    }
    slot().reset();
  }
  void SetUp() override { FLEETADM_NEEDS_KUBE_SERVERS(); }

  static std::unique_ptr<TemporaryFolder>& slot() {
    static std::unique_ptr<TemporaryFolder> folder;
    return folder;
  }
  static std::string kubeconfig_of(const std::string& sandbox) {
    return (slot()->path() / "sandboxes" / sandbox / "kubeconfig").string();
  }
  static Ran fleetadm(const std::vector<std::string>& args) {
    RunOptions options;
    options.environment = {{"FLEETADM_SANDBOX_DIR", (slot()->path() / "sandboxes").string()},
                           {"KUBECONFIG", kubeconfig_of("near")}};
    return run_fleetadm(*slot(), args, options);
  }
  static void load(const std::string& sandbox, const std::string& text) {
    const Ran loaded = fleetadm({"sandbox", "load", sandbox, "-f", slot()->write("load.yaml", text)});
    ASSERT_EQ(loaded.code, 0) << loaded.both();
  }
  static void make_fleet() {
    for (const char* sandbox : {"near", "far"}) {
      const Ran up = fleetadm({"sandbox", "up", sandbox, "--clusters", "0", "--nodes", "--ephemeral"});
      ASSERT_EQ(up.code, 0) << up.both();
      const std::string api = "apiVersion: rbac.authorization.k8s.io/v1\n";
      load(
          sandbox,
          api +
              "kind: ClusterRole\nmetadata: {name: streams}\nrules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]\n---\n" +
              api +
              "kind: ClusterRoleBinding\nmetadata: {name: streams}\nroleRef: {apiGroup: rbac.authorization.k8s.io, "
              "kind: ClusterRole, name: streams}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: sandbox-admin}]\n");
    }
    const Ran made = fleetadm({"init", "--push", "--gateway", "--wait"});
    ASSERT_EQ(made.code, 0) << made.both();
    const Ran joined = fleetadm({"join", "--push", "--member-kubeconfig", kubeconfig_of("far"), "--cluster-name", "c1",
                                 "--allow-loopback", "--wait=available"});
    ASSERT_EQ(joined.code, 0) << joined.both();
    Ran health;
    ASSERT_TRUE(eventually([&] { return (health = fleetadm({"proxy", "health"})).code == 0; }, seconds(60))) << health.both();
  }
};

TEST_F(PushStreams, LogsAndExec) {
  load("far", R"(apiVersion: v1
kind: Pod
metadata: {name: box, namespace: default}
spec:
  containers:
  - name: main
    image: example.com/fleetadm:v1
    args: [work, evaluate, --scenarios, "-"]
    stdin: true
    env: [{name: GREETING, value: hello}]
---
apiVersion: v1
kind: Pod
metadata: {name: ends, namespace: default}
spec:
  restartPolicy: Never
  containers:
  - name: main
    image: example.com/fleetadm:v1
    args: [hub, run, --leader-elect=false]
)");
  Ran ran;
  EXPECT_TRUE(eventually(
      [&] {
        ran = fleetadm({"exec", "box", "--cluster", "c1", "--", "sh", "-c", "echo $GREETING; echo wrong >&2; exit 7"});
        return ran.code == 7;
      },
      seconds(60)))
      << ran.both();
  EXPECT_EQ(ran.out, "hello\n");
  EXPECT_EQ(ran.err, "wrong\n");
  Ran log;
  EXPECT_TRUE(eventually(
      [&] {
        log = fleetadm({"logs", "ends", "--cluster", "c1"});
        return log.code == 0 && log.out.find("no kubeconfig was found") != std::string::npos;
      },
      seconds(60)))
      << log.both();
}

}  // namespace
}  // namespace fleetadm::testkit
