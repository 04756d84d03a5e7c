// unjoin --orphan: what works applied stays on a cluster with an agent and on one that the hub dials, and is nobody's.
#include <gtest/gtest.h>
#include <thread>

#include "tests/support/push_fleet.h"

namespace fleetadm::testkit {
namespace {

const std::string kConfigMapsOf = "/api/v1/namespaces/default/configmaps/";
const std::string kApplied = "/apis/work.open-cluster-management.io/v1/appliedmanifestworks";

class UnjoinOrphan : public PushFleet {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(2, true));
    const Ran init = run({"init", "--push", "--context", "hub", "--wait", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    std::vector<std::string> args = join_args(init.json());
    args.emplace_back("--wait=registered");
    const Ran pulled = run(args);
    ASSERT_EQ(pulled.code, 0) << pulled.both();
    const Ran accepted = run({"accept", "c1", "--context", "hub", "--yes", "--wait=available"});
    ASSERT_EQ(accepted.code, 0) << accepted.both();
    const Ran pushed = join("c2", {"--wait=available"});
    ASSERT_EQ(pushed.code, 0) << pushed.both();
    ASSERT_EQ(run({"clusterset", "bind", "global", "-n", "default", "--context", "hub"}).code, 0);
    ASSERT_EQ(run({"placement", "create", "all", "-n", "default", "--wait", "--context", "hub"}).code, 0);
    RunOptions options;
    options.input = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: placed\n  namespace: default\n";
    const Ran placed = run({"work", "create", "placed", "-n", "default", "-f", "-", "--placement", "default/all", "--context",
                            "hub", "--wait=applied"},
                           options);
    ASSERT_EQ(placed.code, 0) << placed.both();
    for (const char* cluster : {"c1", "c2"}) work(cluster, "direct");
    for (const int spoke : {1, 2}) {
      ASSERT_TRUE(map_is(spoke, "direct", true));
      ASSERT_TRUE(map_is(spoke, "placed", true));
    }
  }
  /// As an agent leaves one that is ended after it has applied it and before it has written that down.
  static void put_unrecorded(int spoke) {
    const Json applied = list_at(fleet()->spoke(spoke).get(kApplied), {"items"}).front();
    const Json owner{{"apiVersion", str(applied, {"apiVersion"}, "work.open-cluster-management.io/v1")},
                     {"kind", "AppliedManifestWork"},
                     {"name", name_of(applied)},
                     {"uid", uid_of(applied)}};
    const auto made = fleet()->spoke(spoke).create(
        "/api/v1/namespaces/default/configmaps",
        {{"apiVersion", "v1"},
         {"kind", "ConfigMap"},
         {"metadata", {{"name", "unrecorded"}, {"namespace", "default"}, {"ownerReferences", Json::array({owner})}}}});
    ASSERT_EQ(made.status, 201) << made.body;
  }
  /// Both maps, as they were made, with no owner; and nothing of the works.
  static void keeps(int spoke, const std::vector<std::string>& uids) {
    const KubeServer& member = fleet()->spoke(spoke);
    std::vector<std::string> now;
    for (const char* name : {"direct", "placed"}) {
      const Json map = member.get(kConfigMapsOf + name);
      now.push_back(uid_of(map));
      EXPECT_TRUE(list_at(map, {"metadata", "ownerReferences"}).empty()) << dump_json(map);
    }
    EXPECT_EQ(now, uids);
    EXPECT_TRUE(list_at(member.get(kApplied), {"items"}).empty());
    const Json unrecorded = member.get(kConfigMapsOf + "unrecorded");
    EXPECT_FALSE(unrecorded.is_null());
    EXPECT_TRUE(list_at(unrecorded, {"metadata", "ownerReferences"}).empty()) << dump_json(unrecorded);
  }
  static std::vector<std::string> uids(int spoke) {
    return {uid_of(fleet()->spoke(spoke).get(kConfigMapsOf + "direct")),
            uid_of(fleet()->spoke(spoke).get(kConfigMapsOf + "placed"))};
  }
};

TEST_F(UnjoinOrphan, A_APlanTellsWhatStaysAndChangesNothing) {
  const Ran plan = unjoin("c2", {"--orphan", "--plan"});
  ASSERT_EQ(plan.code, 0) << plan.both();
  EXPECT_NE(plan.out.find("direct"), std::string::npos) << plan.both();
  const Ran dry = unjoin("c2", {"--orphan", "--dry-run=server"});
  ASSERT_EQ(dry.code, 0) << dry.both();
  EXPECT_EQ(annotation_of(fleet()->hub().get(kPushSecrets + "c2"), "fleetadm.io/works-let-go"), "");
  EXPECT_FALSE(list_at(fleet()->spoke(2).get(kApplied), {"items"}).empty());
}

TEST_F(UnjoinOrphan, B_OfAClusterThatTheHubDials) {
  const auto before = uids(2);
  ASSERT_NO_FATAL_FAILURE(put_unrecorded(2));
  const Ran left = unjoin("c2", {"--orphan", "--yes"});
  ASSERT_EQ(left.code, 0) << left.both();
  EXPECT_EQ(list_at(left.json(), {"kept"}).size(), 2U) << left.both();
  EXPECT_TRUE(fleet()->hub().get(cluster_path("c2")).is_null());
  EXPECT_TRUE(fleet()->hub().get(kPushSecrets + "c2").is_null());
  std::this_thread::sleep_for(std::chrono::seconds(3));  // for whoever would collect them
  keeps(2, before);
}

TEST_F(UnjoinOrphan, C_OfAClusterWithAnAgent) {
  const auto before = uids(1);
  ASSERT_NO_FATAL_FAILURE(put_unrecorded(1));
  const Ran left =
      run({"unjoin", "--context", "c1", "--hub-context", "hub", "--cluster-name", "c1", "--orphan", "--yes", "-o", "json"});
  ASSERT_EQ(left.code, 0) << left.both();
  EXPECT_TRUE(fleet()->hub().get(cluster_path("c1")).is_null());
  EXPECT_TRUE(fleet()->spoke(1).get("/api/v1/namespaces/open-cluster-management-agent").is_null());
  std::this_thread::sleep_for(std::chrono::seconds(3));
  keeps(1, before);
}

TEST_F(UnjoinOrphan, D_OneThatWasBegunIsFinishedOrTakenBack) {
  const Ran back = join("c2", {"--wait=available"});
  ASSERT_EQ(back.code, 0) << back.both();
  work("c2", "again");
  ASSERT_TRUE(map_is(2, "again", true));
  // As a run that was killed leaves it.
  const std::string asked = R"({"metadata":{"annotations":{"fleetadm.io/works-let-go":"asked"}}})";
  ASSERT_EQ(fleet()->hub().request("PATCH", kPushSecrets + "c2", asked, "application/merge-patch+json").status, 200);
  EXPECT_TRUE(fleet()->hub().eventually(
      kPushSecrets + "c2", [](const Json& secret) { return annotation_of(secret, "fleetadm.io/works-let-go") == "done"; }));
  const Ran refused = unjoin("c2", {"--allow-removals"});
  EXPECT_NE(refused.code, 0);
  EXPECT_NE(refused.err.find("--orphan"), std::string::npos) << refused.both();
  const Ran taken_back = join("c2");
  ASSERT_EQ(taken_back.code, 0) << taken_back.both();
  work("c2", "more");
  EXPECT_TRUE(map_is(2, "more", true)) << "the hub applies works again";
  const Ran left = unjoin("c2", {"--orphan", "--yes"});
  EXPECT_EQ(left.code, 0) << left.both();
  EXPECT_TRUE(map_is(2, "again", true));
}

}  // namespace
}  // namespace fleetadm::testkit
