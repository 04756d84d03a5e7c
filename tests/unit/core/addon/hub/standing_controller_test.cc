// Labels of clusters and Available of add-ons on a hub in memory.
#include "core/addon/hub/standing_controller.h"

#include <gtest/gtest.h>
#include <thread>

#include "core/api/kinds.h"
#include "tests/support/fake_api.h"
#include "tests/support/killable.h"

namespace fleetadm::addon {
namespace {

struct StandingHub : testing::Test {
  const kube::Resource& addons = api::managed_cluster_addons_v1beta1();
  std::shared_ptr<testkit::FakeApi> hub = testkit::FakeApi::make();
  testkit::Killable controllers;

  void SetUp() override { put_cluster("True"); }
  void TearDown() override { controllers.stop(); }
  void start() {
    controllers.start([this](controller::Manager& manager, const std::shared_ptr<kube::WriteGate>& gate) {
      AddonHub all;
      all.clock = Clock::system();
      all.objects = std::make_shared<CachedObjects>(manager, hub->client(gate));
      all.writer = std::make_shared<PassWriter>(hub->client(gate));
      add_standing_controller(manager, all);
    });
  }
  static void report(Json& object, std::string_view type, const char* status) {
    controller::set_condition(at_or_make(object, {"status", "conditions"}), type, status, "Because", "of that",
                              Clock::system()->now());
  }
  void put_cluster(const char* available) {
    Json cluster = hub->get(api::managed_clusters(), {}, "c1")
                       .value_or(Json{{"apiVersion", "cluster.open-cluster-management.io/v1"},
                                      {"kind", "ManagedCluster"},
                                      {"metadata", {{"name", "c1"}}}});
    report(cluster, api::kConditionAvailable, available);
    hub->put(api::managed_clusters(), cluster);
  }
  void put_addon(const std::string& name, const char* available) {
    Json addon{{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
               {"kind", "ManagedClusterAddOn"},
               {"metadata", {{"name", name}, {"namespace", "c1"}}}};
    report(addon, "Available", available);
    hub->put(addons, addon);
  }
  std::string label(const std::string& name) const {
    return label_of(*hub->get(api::managed_clusters(), {}, "c1"),
                    std::string("feature.open-cluster-management.io/addon-") + name);
  }
  std::string available(const std::string& name) const {
    const Json addon = hub->get(addons, "c1", name).value_or(Json());
    const Json* condition = controller::find_condition(addon, "Available");
    return condition == nullptr ? "" : str(*condition, {"status"}) + " " + str(*condition, {"reason"});
  }
  static bool in_time(const std::function<bool()>& done, Duration timeout = std::chrono::seconds(20)) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    while (!done() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return done();
  }
};

TEST_F(StandingHub, OneWriteTellsOfAllAddOnsOfACluster) {
  start();
  for (int i = 0; i < 20; ++i) put_addon("a" + std::to_string(i), i % 2 == 0 ? "True" : "False");
  ASSERT_TRUE(in_time([&] { return label("a19") == "unhealthy" && label("a0") == "available"; }));
  EXPECT_EQ(hub->count("patch", "managedclusters"), 1);
  hub->erase(addons, "c1", "a0");
  EXPECT_TRUE(in_time([&] { return label("a0").empty(); }));
  EXPECT_EQ(label("a19"), "unhealthy");
}

TEST_F(StandingHub, AnAddOnsOwnManagerIsNotAnsweredAgainAndAgain) {
  put_addon("a", "True");
  start();
  put_cluster("Unknown");
  ASSERT_TRUE(in_time([&] { return available("a") == "Unknown Because" && label("a") == "unreachable"; }));
  // It has come to the cache: seen by the labels, which are written for what the cache shows.
  put_addon("b", "True");
  ASSERT_TRUE(in_time([&] { return available("b") == "Unknown Because" && label("b") == "unreachable"; }));
  put_addon("a", "True");
  EXPECT_FALSE(in_time([&] { return available("a") != "True Because"; }, std::chrono::milliseconds(2500)));
  EXPECT_EQ(hub->count("patch", "managedclusteraddons"), 2);
}

}  // namespace
}  // namespace fleetadm::addon
