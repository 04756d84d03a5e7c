// The whole hub program on a server in memory: informers, queues, controllers, leader lease.
#include "core/hub/hub.h"

#include <gtest/gtest.h>
#include <thread>

#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "tests/support/fake_api.h"

namespace fleetadm::hub {
namespace {

using namespace std::chrono_literals;
using testkit::FakeApi;

bool eventually(const std::function<bool()>& done, Duration most = 20s) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

class HubProgramTest : public testing::Test {
 public:
  std::shared_ptr<FakeApi> api = FakeApi::make();
  HubOptions options;
  Status outcome = fail(Category::kInternal, "not run");

  std::jthread start() {
    return std::jthread([this](std::stop_token stop) { outcome = run_hub(api->client(), options, stop); });
  }
  void put_cluster(const std::string& name, bool accepted) {
    api->put(api::managed_clusters(), {{"apiVersion", "cluster.open-cluster-management.io/v1"},
                                       {"kind", "ManagedCluster"},
                                       {"metadata", {{"name", name}}},
                                       {"spec", {{"hubAcceptsClient", accepted}}}});
  }
  bool accepted(const std::string& name) const {
    const auto cluster = api->get(api::managed_clusters(), {}, name);
    return cluster && controller::condition_is(*cluster, api::kConditionHubAccepted, "True");
  }
};

TEST_F(HubProgramTest, AcceptsCountsAndForgetsAsThingsHappen) {
  auto running = start();
  ASSERT_TRUE(eventually([&] { return api->get(api::managed_cluster_sets(), {}, "global").has_value(); }));
  put_cluster("c1", true);
  EXPECT_TRUE(eventually([&] { return accepted("c1"); }));
  EXPECT_TRUE(eventually([&] { return api->get(kube::resources::leases(), "c1", "managed-cluster-lease").has_value(); }));
  EXPECT_TRUE(eventually([&] {
    const auto set = api->get(api::managed_cluster_sets(), {}, "default");
    return set && controller::condition_is(*set, "ClusterSetEmpty", "False");
  }));
  // Removed by someone: back at once, by the watch.
  api->erase(kube::resources::cluster_roles(), {}, "open-cluster-management:managedcluster:c1");
  EXPECT_TRUE(eventually(
      [&] { return api->get(kube::resources::cluster_roles(), {}, "open-cluster-management:managedcluster:c1").has_value(); }));
  ASSERT_TRUE(api->client().remove(api::managed_clusters(), {}, "c1"));
  EXPECT_TRUE(eventually([&] { return !api->get(api::managed_clusters(), {}, "c1"); }));
  EXPECT_TRUE(eventually([&] { return api->all(kube::resources::cluster_roles()).empty(); }));
  running.request_stop();
  running.join();
  EXPECT_TRUE(outcome) << outcome.error().message;
}

TEST_F(HubProgramTest, OnlyTheLeaderWorks) {
  options.leader_elect = true;
  options.identity = "me";
  api->put(kube::resources::leases(), {{"apiVersion", "coordination.k8s.io/v1"},
                                       {"kind", "Lease"},
                                       {"metadata", {{"name", std::string(kLeaderLease)}, {"namespace", options.ns}}},
                                       {"spec", {{"holderIdentity", "another"}, {"leaseDurationSeconds", 3600}}}});
  put_cluster("c1", true);
  auto running = start();
  ASSERT_TRUE(eventually([&] { return api->count("get", "leases") > 0; }));
  std::this_thread::sleep_for(100ms);
  running.request_stop();
  running.join();
  EXPECT_TRUE(outcome);
  EXPECT_EQ(api->write_count(), 0);
}

TEST_F(HubProgramTest, AClusterThatIsNoHubIsAClearError) {
  api->fail_next("list", "managedclusters", 404, "NotFound", 1000);
  outcome = run_hub(api->client(), options, {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().category, Category::kNotFound);
  EXPECT_NE(outcome.error().message.find("managedclusters.cluster.open-cluster-management.io"), std::string::npos);
  EXPECT_NE(outcome.error().hint.find("fleetadm init"), std::string::npos);
}

TEST_F(HubProgramTest, AnUnusableHealthAddressIsAClearError) {
  options.health_address = "nowhere";
  outcome = run_hub(api->client(), options, {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().category, Category::kUsage);
}

}  // namespace
}  // namespace fleetadm::hub
