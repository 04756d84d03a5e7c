// A cluster in a network of its own whose way to the hub is cut for longer than its lease: nobody is told, on neither side. What
// was applied goes on, and when packets pass again everything is well by itself.
#include <chrono>
#include <gtest/gtest.h>
#include <iostream>

#include "tests/support/own_network_test.h"

namespace fleetadm::testkit {
namespace {

using Steady = std::chrono::steady_clock;
constexpr std::string_view kCutCluster = "/apis/cluster.open-cluster-management.io/v1/managedclusters/c1";
constexpr std::string_view kCutLease = "/apis/coordination.k8s.io/v1/namespaces/c1/leases/managed-cluster-lease";
constexpr std::string_view kCutWorks = "/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks";
constexpr std::string_view kCutMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::string_view kAgentPods = "/api/v1/namespaces/open-cluster-management-agent/pods";
constexpr std::string_view kCutRequests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
constexpr const char* kIsAvailable = "ManagedClusterConditionAvailable";
constexpr auto kSoon = std::chrono::seconds(15);      // from the mended network to a fleet that is well
constexpr auto kSoonAnew = std::chrono::seconds(45);  // where silent connections have to be given up first

std::string at(std::string_view collection, const std::string& name) { return std::string(collection) + "/" + name; }

class NetworkCut : public OwnNetworkTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin_in_own_network());
    const auto changed =
        fleet()->hub().request("PATCH", kCutCluster, R"({"spec":{"leaseDurationSeconds":2}})", "application/merge-patch+json");
    ASSERT_EQ(changed.status, 200) << changed.body;
    // The agent learns of the shorter lease before the way is cut.
    std::string renewed = lease();
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(eventually([&] { return lease() != renewed; }, std::chrono::seconds(60)));
      renewed = lease();
    }
  }
  void TearDown() override {
    if (fleet()) member().network()->mend();
  }

  static KubeServer& member() { return fleet()->spoke(1); }
  static std::string lease() { return str(fleet()->hub().get(kCutLease), {"spec", "renewTime"}); }
  static bool is_told(std::string_view status, Duration patience) {
    return condition_becomes(fleet()->hub(), kCutCluster, kIsAvailable, status, patience);
  }
  static bool is_tainted() { return !list_at(fleet()->hub().get(kCutCluster), {"spec", "taints"}).empty(); }
  static void work(const std::string& name) {
    const Json map{{"apiVersion", "v1"},
                   {"kind", "ConfigMap"},
                   {"metadata", {{"name", name}, {"namespace", "default"}}},
                   {"data", {{"of", name}}}};
    const auto made = fleet()->hub().create(kCutWorks, {{"apiVersion", "work.open-cluster-management.io/v1"},
                                                        {"kind", "ManifestWork"},
                                                        {"metadata", {{"name", name}, {"namespace", "c1"}}},
                                                        {"spec", {{"workload", {{"manifests", Json::array({map})}}}}}});
    ASSERT_EQ(made.status, 201) << made.body;
  }
  static bool has_map(const std::string& name) { return !member().get(at(kCutMaps, name)).is_null(); }
  static std::string uid_of_map(const std::string& name) { return uid_of(member().get(at(kCutMaps, name))); }
  /// Which pods the agent has, and how often their programs began.
  static std::string agent_pods() {
    std::string pods;
    for (const Json& pod : list_at(member().get(kAgentPods), {"items"})) {
      pods += uid_of(pod);
      for (const Json& status : list_at(pod, {"status", "containerStatuses"}))
        pods += " " + std::to_string(num(status, {"restartCount"}));
    }
    return pods;
  }
  static std::size_t requests() { return list_at(fleet()->hub().get(kCutRequests), {"items"}).size(); }

  /// Cuts, looks, mends, and looks again. `forget`: the connections that there are never pass again, as behind a firewall that
  /// has forgotten them.
  static void cut_and_mend(const std::string& name, bool forget) {
    const auto ms = [](Steady::duration time) { return static_cast<int>(time / std::chrono::milliseconds(1)); };
    work(name);
    work(name + "-gone");
    ASSERT_TRUE(condition_becomes(fleet()->hub(), at(kCutWorks, name), "Available", "True"));
    ASSERT_TRUE(condition_becomes(fleet()->hub(), at(kCutWorks, name + "-gone"), "Available", "True"));
    const std::string kept = uid_of_map(name);
    const std::string pods = agent_pods();
    const std::size_t asked = requests();

    const auto cut = Steady::now();
    member().network()->cut();
    ASSERT_TRUE(is_told("Unknown", std::chrono::seconds(60))) << fleet()->hub().get(kCutCluster);
    const auto unknown = Steady::now() - cut;
    EXPECT_TRUE(eventually(is_tainted)) << "placements look for other clusters";
    // What changes on both sides in the meantime.
    work(name + "-new");
    ASSERT_LT(fleet()->hub().request("DELETE", at(kCutWorks, name + "-gone")).status, 300);
    ASSERT_EQ(member().request("PATCH", at(kCutMaps, name), R"({"data":{"of":"drift"}})", "application/merge-patch+json").status,
              200);
    EXPECT_TRUE(eventually(
        [&] {
          return str(member().get(at(kCutMaps, name)), {"data", "of"}) == name;
        },
        std::chrono::seconds(30)))
        << "drift is repaired without the hub";
    for (const auto until = cut + std::chrono::seconds(40); Steady::now() < until;) {
      ASSERT_EQ(uid_of_map(name), kept) << "what was applied stays";
      ASSERT_TRUE(has_map(name + "-gone"));
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    EXPECT_FALSE(has_map(name + "-new"));
    EXPECT_EQ(condition(fleet()->hub(), kCutCluster, kIsAvailable), "Unknown");

    if (forget) member().network()->forget();
    const auto mended = Steady::now();
    member().network()->mend();
    const Duration soon = forget ? kSoonAnew : kSoon;
    EXPECT_TRUE(is_told("True", soon)) << fleet()->hub().get(kCutCluster);
    const auto available = Steady::now() - mended;
    EXPECT_TRUE(eventually([&] { return has_map(name + "-new") && !has_map(name + "-gone"); }, kSoon));
    const auto applied = Steady::now() - mended;
    EXPECT_TRUE(eventually([] { return !is_tainted(); }, kSoon));
    EXPECT_TRUE(condition_becomes(fleet()->hub(), at(kCutWorks, name + "-new"), "Available", "True", kSoon));
    EXPECT_TRUE(eventually([&] { return fleet()->hub().get(at(kCutWorks, name + "-gone")).is_null(); }, kSoon));
    const auto well = Steady::now() - mended;
    EXPECT_EQ(uid_of_map(name), kept);
    EXPECT_EQ(agent_pods(), pods) << "nobody had to start it again";
    EXPECT_EQ(requests(), asked) << "it kept its certificate";
    for (const auto& [key, time] :
         {std::pair{"unknown_ms", unknown}, {"available_ms", available}, {"applied_ms", applied}, {"well_ms", well}}) {
      RecordProperty(key, ms(time));
      std::cout << name << ": " << key << " " << ms(time) << "\n";
    }
  }
};

TEST_F(NetworkCut, AClusterIsUnknownMeanwhileAndThenWellByItself) { cut_and_mend("cut", false); }

TEST_F(NetworkCut, AndWhereItsConnectionsAreForgottenOnTheWay) { cut_and_mend("forgotten", true); }

}  // namespace
}  // namespace fleetadm::testkit
