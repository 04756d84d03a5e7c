// Clusters of real servers that nothing outside their own networks reaches: everything that the hub and its users do there goes
// through the tunnel that the agent has opened. The networks break, and lose packets.
#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <variant>
#include <vector>

#include "core/proxy/client/gateway_access.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/watch/blocking_watch.h"
#include "tests/support/own_network_test.h"

namespace fleetadm::testkit {
namespace {

using Steady = std::chrono::steady_clock;
constexpr std::string_view kFarMaps = "/api/v1/namespaces/default/configmaps";

class ProxyNetworks : public OwnNetworkTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin_in_own_network({"--gateway"}, [] {
      const Json published = hub().get("/api/v1/namespaces/open-cluster-management-hub/configmaps/fleetadm-gateway");
      return std::vector<std::string>{str(published, {"data", "tunnel"})};
    }));
    const Json rule = {{"apiGroups", {"", "apps"}}, {"resources", {"*"}}, {"verbs", {"*"}}};
    allow_carol(hub(),
                {{"apiGroups", {"proxy.open-cluster-management.io"}}, {"resources", {"clusters/proxy"}}, {"verbs", {"*"}}});
    allow_carol(member(), rule);
    const Ran health = run_until_well();
    ASSERT_EQ(health.code, 0) << health.both();
  }
  static Ran run_until_well() {
    Ran health;
    eventually([&] { return (health = as_carol({"proxy", "health", "--clusters", "c1"})).code == 0; }, std::chrono::seconds(90));
    return health;
  }
  void TearDown() override {
    if (!fleet()) return;
    member().network()->mend();
    member().network()->lose_every(0);
    EXPECT_EQ(run_until_well().code, 0);
  }
  static KubeServer& hub() { return fleet()->hub(); }
  static KubeServer& member() { return fleet()->spoke(1); }
  static Ran kubectl(const std::vector<std::string>& args, const std::string& input = {}) {
    std::vector<std::string> words = {"proxy", "kubectl", "--cluster", "c1", "--"};
    words.insert(words.end(), args.begin(), args.end());
    return as_carol(words, input);
  }
  static Ran as_carol(const std::vector<std::string>& words, const std::string& input = {}) {
    RunOptions options;
    options.input = input;
    options.environment = {{"KUBECONFIG", hub().kubeconfig_file_for("carol")},
                           {"FLEETADM_KUBECTL", *KubeServer::programs() + "/kubectl"}};
    return run_fleetadm(fleet()->folder(), words, options);
  }
  static Result<kube::Client> through_gateway() {
    kube::ConfigOverrides overrides;
    overrides.kubeconfig = hub().kubeconfig_file_for("carol");
    FLEETADM_TRY(const kube::RestConfig config, kube::load_rest_config(overrides));
    FLEETADM_TRY(const auto gateway, proxy::find_gateway(kube::Client::connect(config)));
    FLEETADM_TRY(const kube::RestConfig to, proxy::member_config(config, gateway, "c1"));
    return kube::Client::connect(to);
  }
  static void make_map(const std::string& name) {
    const Json map{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}}}};
    ASSERT_EQ(member().create(kFarMaps, map).status, 201);
  }
  static kube::BlockingWatch watch_maps(const kube::Client& client) {
    return {client, kube::resources::config_maps(), "default", {}, "", std::chrono::minutes(45)};
  }
  /// True once the watch has told of it.
  static bool is_told(kube::BlockingWatch& watch, const std::string& name, Duration patience) {
    for (const auto until = Steady::now() + patience; Steady::now() < until;) {
      const auto next = watch.next(std::chrono::milliseconds(500), {});
      if (std::holds_alternative<kube::BlockingWatch::Ended>(next)) return false;
      if (const auto* event = std::get_if<kube::BlockingWatch::Event>(&next); event && name_of(event->object) == name)
        return true;
    }
    return false;
  }
  static bool ends(kube::BlockingWatch& watch, Duration patience) {
    for (const auto until = Steady::now() + patience; Steady::now() < until;)
      if (std::holds_alternative<kube::BlockingWatch::Ended>(watch.next(std::chrono::milliseconds(200), {}))) return true;
    return false;
  }
};

TEST_F(ProxyNetworks, A_NothingButTheTunnelLeadsThere) {
  const Ran directly = run({"get", "clusters", "--context", "c1"});
  EXPECT_EQ(directly.code, 1) << directly.both();
  EXPECT_NE(directly.err.find("refused"), std::string::npos) << directly.err;
  const Ran deployment = kubectl({"apply", "-f", "-"}, R"({"apiVersion": "v1", "kind": "ConfigMap",
    "metadata": {"name": "far", "namespace": "default"}, "data": {"a": "b"}})");
  EXPECT_EQ(deployment.code, 0) << deployment.both();
  EXPECT_EQ(str(member().get(std::string(kFarMaps) + "/far"), {"data", "a"}), "b");
  EXPECT_EQ(kubectl({"get", "configmap", "far", "-o", "jsonpath={.data.a}"}).out, "b");
  const Ran dry = kubectl({"delete", "configmap", "far", "--dry-run=server"});
  EXPECT_EQ(dry.code, 0) << dry.both();
  EXPECT_EQ(kubectl({"get", "configmap", "far", "-o", "name"}).out, "configmap/far\n");
}

/// For as many seconds as $FLEETADM_WATCH_SECONDS says, half an hour for instance.
TEST_F(ProxyNetworks, B_AWatchGoesOn) {
  const char* longer = std::getenv("FLEETADM_WATCH_SECONDS");
  const std::chrono::seconds whole(longer == nullptr ? 3 : std::atoi(longer));
  const auto client = through_gateway();
  ASSERT_TRUE(client) << client.error().message;
  kube::BlockingWatch watch = watch_maps(*client);
  int count = 0;
  for (const auto until = Steady::now() + whole; Steady::now() < until;) {
    const std::string name = "watched-" + std::to_string(++count);
    make_map(name);
    ASSERT_TRUE(is_told(watch, name, std::chrono::seconds(15))) << name;
    // Most of the time nothing happens.
    ASSERT_FALSE(ends(watch, whole / 10)) << "after " << name;
  }
  EXPECT_GE(count, 3);
}

TEST_F(ProxyNetworks, C_OneSegmentInTwentyIsLost) {
  member().network()->lose_every(20);
  const auto client = through_gateway();
  ASSERT_TRUE(client) << client.error().message;
  kube::BlockingWatch watch = watch_maps(*client);
  for (int i = 0; i < 10; ++i) {
    const std::string name = "lossy-" + std::to_string(i);
    const Ran made = kubectl({"create", "configmap", name, "--from-literal=text=" + std::string(20'000, 'x')});
    ASSERT_EQ(made.code, 0) << made.both();
    EXPECT_TRUE(is_told(watch, name, std::chrono::seconds(15))) << name;
  }
  const Ran list = kubectl({"get", "configmaps", "-o", "json"});
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_GT(list.out.size(), 200'000U);
}

TEST_F(ProxyNetworks, D_APartitionEndsWhatRunsAndThenAllIsWell) {
  const auto client = through_gateway();
  ASSERT_TRUE(client) << client.error().message;
  kube::BlockingWatch watch = watch_maps(*client);
  make_map("before-the-partition");
  ASSERT_TRUE(is_told(watch, "before-the-partition", std::chrono::seconds(15)));
  member().network()->cut();
  const auto since = Steady::now();
  EXPECT_TRUE(ends(watch, std::chrono::seconds(40))) << "nobody may wait for ever";
  RecordProperty("stream_ended_ms", static_cast<int>((Steady::now() - since) / std::chrono::milliseconds(1)));
  const Ran down = as_carol({"proxy", "health", "--clusters", "c1", "--cluster-timeout", "5s"});
  EXPECT_EQ(down.code, 1) << down.both();
  const Ran refused = kubectl({"get", "configmaps", "--request-timeout=20s"});
  EXPECT_EQ(refused.code, 1) << refused.both();
  member().network()->mend();
  const Ran well = run_until_well();
  EXPECT_EQ(well.code, 0) << well.both();
  EXPECT_EQ(kubectl({"get", "configmap", "before-the-partition", "-o", "name"}).out, "configmap/before-the-partition\n");
}

}  // namespace
}  // namespace fleetadm::testkit
