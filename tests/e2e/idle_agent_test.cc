// What an agent that has nothing to do asks its two servers for, beside its watches: on the hub the renewal of its lease, on its
// cluster how that is (/livez, which audit logs leave out).
#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <thread>

#include "core/api/agent_health.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

constexpr auto kWindow = std::chrono::seconds(75);  // the longest interval of a lease, and more than one of looks at the cluster
constexpr std::string_view kIdleCluster = "/apis/cluster.open-cluster-management.io/v1/managedclusters/c1";

class IdleAgent : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, true));
    ASSERT_NO_FATAL_FAILURE(have_member());
  }
  /// What one user asked a server for since a position, without watches.
  static std::map<std::string, int> asked(const KubeServer& server, std::uintmax_t from, std::string_view user) {
    std::map<std::string, int> requests;
    for (const AuditEntry& entry : server.audit_since(from)) {
      if (entry.verb == "watch" || !entry.user.starts_with(user)) continue;
      ++requests[entry.verb + " " + entry.uri.substr(0, entry.uri.find('?'))];
    }
    return requests;
  }
};

TEST_F(IdleAgent, RenewsItsLeaseAndLooksAtItsCluster) {
  // The last that an agent has to tell after it has joined.
  ASSERT_TRUE(condition_becomes(fleet()->hub(), kIdleCluster, api::kConditionAgentReady, "True", std::chrono::minutes(2)));
  std::this_thread::sleep_for(std::chrono::seconds(5));
  const auto on_hub = fleet()->hub().audit_position();
  const auto on_cluster = fleet()->spoke(1).audit_position();
  std::this_thread::sleep_for(kWindow);
  const auto of_hub = asked(fleet()->hub(), on_hub, "system:open-cluster-management:c1:");
  const std::string lease = "update /apis/coordination.k8s.io/v1/namespaces/c1/leases/managed-cluster-lease";
  EXPECT_EQ(of_hub.size(), 1U) << testing::PrintToString(of_hub);
  ASSERT_TRUE(of_hub.contains(lease)) << testing::PrintToString(of_hub);
  EXPECT_LE(of_hub.at(lease), 2);
  const auto of_cluster =
      asked(fleet()->spoke(1), on_cluster, "system:serviceaccount:open-cluster-management-agent:fleetadm-agent");
  EXPECT_TRUE(of_cluster.empty()) << testing::PrintToString(of_cluster);
}

}  // namespace
}  // namespace fleetadm::testkit
