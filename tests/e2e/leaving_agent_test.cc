// An agent that starts while its cluster is being deleted, on a hub that has taken all rights away but those on works, as
// upstream's does at once.
#include <chrono>
#include <gtest/gtest.h>
#include <set>
#include <string>

#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kPodsOfAgent =
    "/api/v1/namespaces/open-cluster-management-agent/pods?labelSelector=app%3Dfleetadm-agent";

class LeavingAgent : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, true));
    ASSERT_NO_FATAL_FAILURE(have_member());
    for (const std::string name : {"page", "other"}) {
      const std::string file = fleet()->folder().write(
          name + ".yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: default}\n");
      const Ran ran = run({"work", "apply", name, "-f", file, "--clusters", "c1", "--wait=applied", "--context", "hub"});
      ASSERT_EQ(ran.code, 0) << ran.both();
    }
  }
  static void remove(const KubeServer& server, const std::string& path) {
    const auto gone = server.request("DELETE", path);
    ASSERT_LT(gone.status, 300) << path << ": " << gone.body;
  }
  static bool has(const KubeServer& server, const std::string& path) { return !server.get(path).is_null(); }
  /// Of the agent's pods that run, the uids.
  static std::set<std::string> running() {
    std::set<std::string> uids;
    for (const Json& pod : list_at(fleet()->spoke(1).get(kPodsOfAgent), {"items"})) {
      if (!is_deleting(pod) && str(pod, {"status", "phase"}) == "Running") uids.insert(uid_of(pod));
    }
    return uids;
  }
};

TEST_F(LeavingAgent, TakesItsWorksBackWhereItMayReadNothingElse) {
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1";
  const std::string role = "open-cluster-management:managedcluster:c1";
  const std::string works = "/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks/";
  const std::string pages = "/api/v1/namespaces/default/configmaps/";
  const KubeServer& hub = fleet()->hub();
  fleet()->kill_node(0);  // with the hub's controllers
  ASSERT_NO_FATAL_FAILURE(remove(hub, "/apis/cluster.open-cluster-management.io/v1/managedclusters/c1"));
  ASSERT_NO_FATAL_FAILURE(remove(hub, rbac + "/namespaces/c1/rolebindings/" + role + ":work"));
  ASSERT_NO_FATAL_FAILURE(remove(hub, rbac + "/namespaces/c1/rolebindings/" + role + ":registration"));
  ASSERT_NO_FATAL_FAILURE(remove(hub, rbac + "/clusterrolebindings/" + role));
  ASSERT_NO_FATAL_FAILURE(remove(hub, rbac + "/clusterroles/" + role));
  ASSERT_TRUE(has(hub, rbac + "/namespaces/c1/rolebindings/" + role + ":work")) << "its finalizer keeps it";

  const auto before = running();
  ASSERT_EQ(before.size(), 1U);
  ASSERT_NO_FATAL_FAILURE(remove(fleet()->spoke(1), std::string(kPodsOfAgent)));
  ASSERT_TRUE(eventually([&] { return running().size() == 1 && running() != before; }, std::chrono::seconds(60)));
  ASSERT_NO_FATAL_FAILURE(remove(hub, works + "page"));
  EXPECT_TRUE(eventually([&] { return !has(hub, works + "page"); }, std::chrono::seconds(60)));
  EXPECT_FALSE(has(fleet()->spoke(1), pages + "page"));
  EXPECT_TRUE(has(fleet()->spoke(1), pages + "other")) << "nobody takes that away";
  EXPECT_TRUE(has(hub, works + "other"));
}

}  // namespace
}  // namespace fleetadm::testkit
