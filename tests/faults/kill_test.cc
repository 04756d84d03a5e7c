// Join and unjoin killed after every single write and run again: the end state equals that of an undisturbed run. No node runs
// here, so nothing but the command itself writes what is compared.
#include <gtest/gtest.h>

#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

// What a part of fleetadm consists of on a server, without what differs from run to run.
std::map<std::string, std::string> contents(const KubeServer& server, const std::string& part) {
  const std::vector<std::string> paths{"/api/v1/namespaces",
                                       "/api/v1/secrets",
                                       "/api/v1/configmaps",
                                       "/api/v1/serviceaccounts",
                                       "/apis/apps/v1/deployments",
                                       "/apis/rbac.authorization.k8s.io/v1/clusterroles",
                                       "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                                       "/apis/rbac.authorization.k8s.io/v1/roles",
                                       "/apis/rbac.authorization.k8s.io/v1/rolebindings",
                                       "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"};
  std::map<std::string, std::string> all;
  for (const std::string& path : paths) {
    Json list = server.get(path + "?labelSelector=fleetadm.io%2Fpart%3D" + part);
    for (Json object : list_at(list, {"items"})) {
      for (const char* field : {"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "annotations"}) {
        erase_at(object, {"metadata", field});
      }
      erase_at(object, {"status"});
      all[path + " " + namespace_of(object) + "/" + name_of(object)] = dump_json(object);
    }
  }
  return all;
}

class Kill : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, false));
    const Ran init = fleet()->run({"init", "--context", "hub", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    join() = join_args(init.json());
    join().emplace_back("--agent-arg=--agent-id=agent1");  // else join draws one, which differs each time
    start_controllers();
  }

  static std::vector<std::string>& join() {
    static std::vector<std::string> args;
    return args;
  }
  static Ran run_killed(const std::vector<std::string>& args, int writes) {
    RunOptions options;
    options.environment["FLEETADM_EXIT_AFTER_WRITES"] = std::to_string(writes);
    return fleet()->run(args, options);
  }
  // The cluster as the hub knows it after a join and an accept, without an agent.
  static void register_cluster() {
    const Json cluster{{"apiVersion", "cluster.open-cluster-management.io/v1"},
                       {"kind", "ManagedCluster"},
                       {"metadata", {{"name", "c1"}}},
                       {"spec", {{"hubAcceptsClient", true}}}};
    ASSERT_TRUE(eventually([&] { return fleet()->hub().create(kManagedClusters, cluster).status == 201; }));
    ASSERT_TRUE(condition_becomes(fleet()->hub(), std::string(kManagedClusters) + "/c1", "HubAcceptedManagedCluster", "True"));
  }
};

/// What is in only one of them, a line each.
std::string differences(const std::set<std::string>& now, const std::set<std::string>& before) {
  std::string out;
  for (const std::string& name : now) out += before.contains(name) ? "" : "new: " + name + "\n";
  for (const std::string& name : before) out += now.contains(name) ? "" : "gone: " + name + "\n";
  return out;
}

const std::vector<std::string> kLeave{"unjoin", "--context", "c1", "--hub-context", "hub", "--cluster-name", "c1", "--yes"};

TEST_F(Kill, JoinEndsTheSameWhereverItWasKilled) {
  const Ran undisturbed = fleet()->run(join());
  ASSERT_EQ(undisturbed.code, 0) << undisturbed.both();
  const auto wanted = contents(fleet()->spoke(1), "agent");
  ASSERT_GT(wanted.size(), 10U);
  const Ran leave = fleet()->run({"unjoin", "--context", "c1", "--yes"});
  ASSERT_EQ(leave.code, 0) << leave.both();
  ASSERT_TRUE(contents(fleet()->spoke(1), "agent").empty());
  int kills = 0;
  for (int k = 1; k < 100; ++k) {
    const Ran killed = run_killed(join(), k);
    const bool done = killed.code == 0;
    ASSERT_TRUE(done || killed.code == 137) << "after write " << k << ": " << killed.both();
    kills += done ? 0 : 1;
    const Ran again = fleet()->run(join());
    ASSERT_EQ(again.code, 0) << "after write " << k << ": " << again.both();
    EXPECT_EQ(contents(fleet()->spoke(1), "agent"), wanted) << "after write " << k;
    const Ran away = fleet()->run({"unjoin", "--context", "c1", "--yes"});
    ASSERT_EQ(away.code, 0) << away.both();
    if (done) break;
  }
  EXPECT_GE(kills, 10) << "the kill switch did not work";
  RecordProperty("kills", kills);
}

TEST_F(Kill, UnjoinEndsTheSameWhereverItWasKilled) {
  ASSERT_TRUE(contents(fleet()->spoke(1), "agent").empty());
  const auto hub_before = inventory(fleet()->hub());
  const auto spoke_before = inventory(fleet()->spoke(1));
  int kills = 0;
  for (int k = 1; k < 100; ++k) {
    register_cluster();
    const Ran joined = fleet()->run(join());
    ASSERT_EQ(joined.code, 0) << joined.both();
    const Ran killed = run_killed(kLeave, k);
    if (killed.code != 0) {
      ASSERT_EQ(killed.code, 137) << "after write " << k << ": " << killed.both();
      ++kills;
      const Ran again = fleet()->run(kLeave);
      ASSERT_EQ(again.code, 0) << "after write " << k << ": " << again.both();
    }
    EXPECT_EQ(differences(inventory(fleet()->spoke(1)), spoke_before), "") << "after write " << k;
    EXPECT_EQ(differences(inventory(fleet()->hub()), hub_before), "") << "after write " << k;
    if (killed.code == 0) break;
  }
  EXPECT_GE(kills, 10) << "the kill switch did not work";
  RecordProperty("kills", kills);
}

}  // namespace
}  // namespace fleetadm::testkit
