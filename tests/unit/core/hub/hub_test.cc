// The whole hub program on a server in memory: informers, queues, controllers, leader lease.
#include "core/hub/hub.h"

#include <atomic>
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

// As when its node is lost: the leader renews nothing any more and gives nothing back.
TEST_F(HubProgramTest, ALostLeaderIsFollowedWithin20Seconds) {
  std::atomic<bool> lost = false;
  const auto gate = std::make_shared<kube::WriteGate>();
  gate->before = [&lost](kube::Method, std::string_view) -> Status {
    if (lost) return fail(Category::kUnavailable, "the node is lost");
    return {};
  };
  options.leader_elect = true;
  HubOptions first_options = options;
  first_options.identity = "first";
  std::jthread first([&](std::stop_token stop) { (void)run_hub(api->client(gate), first_options, stop); });
  const auto leader = [&] {
    const auto lease = api->get(kube::resources::leases(), options.ns, kLeaderLease);
    return lease ? str(*lease, {"spec", "holderIdentity"}) : std::string();
  };
  ASSERT_TRUE(eventually([&] { return leader() == "first"; }));
  options.identity = "second";
  const int seen = api->count("get", "leases");
  auto second = start();
  ASSERT_TRUE(eventually([&] { return api->count("get", "leases") > seen; }));
  put_cluster("c1", false);
  lost = true;
  const Json cluster = *api->get(api::managed_clusters(), {}, "c1");
  Json accepted_cluster = cluster;
  accepted_cluster["spec"]["hubAcceptsClient"] = true;
  api->put(api::managed_clusters(), accepted_cluster);
  EXPECT_TRUE(eventually([&] { return accepted("c1"); }, 20s));
  EXPECT_EQ(leader(), "second");
}

TEST_F(HubProgramTest, LabelsAreOnWhatItCreates) {
  options.labels = {{"team", "fleet"}, {"open-cluster-management.io/cluster-name", "not-this"}};
  auto running = start();
  put_cluster("c1", true);
  ASSERT_TRUE(eventually([&] { return accepted("c1"); }));
  ASSERT_TRUE(eventually([&] { return api->get(kube::resources::leases(), "c1", "managed-cluster-lease").has_value(); }));
  const auto team = [&](const kube::Resource& type, const std::string& ns, const std::string& name) {
    const auto object = api->get(type, ns, name);
    return object ? label_of(*object, "team") : "<none>";
  };
  const std::string role = "open-cluster-management:managedcluster:c1";
  EXPECT_EQ(team(kube::resources::namespaces(), {}, "c1"), "fleet");
  EXPECT_EQ(team(kube::resources::cluster_roles(), {}, role), "fleet");
  EXPECT_EQ(team(kube::resources::cluster_role_bindings(), {}, role), "fleet");
  EXPECT_EQ(team(kube::resources::role_bindings(), "c1", role + ":work"), "fleet");
  EXPECT_EQ(team(kube::resources::leases(), "c1", "managed-cluster-lease"), "fleet");
  EXPECT_TRUE(eventually([&] { return team(api::managed_cluster_sets(), {}, "default") == "fleet"; }));
  EXPECT_EQ(label_of(*api->get(kube::resources::namespaces(), {}, "c1"), api::kClusterNameLabel), "c1");
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
