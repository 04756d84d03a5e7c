// A cluster whose network leads nowhere but to a proxy, which wants credentials and is reached by TLS: the agent registers, works
// are applied, and requests come back through its tunnel, all by way of that proxy.
#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/fleet_test.h"
#include "tests/support/forward_proxy_server.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kPublishedAt = "/api/v1/namespaces/open-cluster-management-hub/configmaps/fleetadm-gateway";

class EgressProxy : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    auto network = NetworkNamespace::make();
    ASSERT_TRUE(network) << network.error().message << "; " << network.error().hint;
    KubeServerOptions of_member;
    of_member.network = *network;
    ASSERT_NO_FATAL_FAILURE(begin(1, true, {}, of_member));
    const Ran made = run({"init", "--context", "hub", "--gateway", "--wait", "-o", "json"});
    ASSERT_EQ(made.code, 0) << made.both();
    ticket_ = made.json();

    pki::LeafOptions leaf;
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    const auto ca = pki::make_ca("proxy", std::chrono::hours(1));
    ForwardProxyOptions options;
    options.certificate = *pki::issue(*ca, leaf);
    options.credentials = "edge:proxy-pass";
    for (const std::string& address : {hub().url().substr(8), str(hub().get(kPublishedAt), {"data", "tunnel"})}) {
      options.ways[target_of(address)] = static_cast<std::uint16_t>(port_of(address));
    }
    proxy_ = std::make_unique<ForwardProxyServer>(options);
    const Status led = member().network()->lead_out(proxy_->port());
    ASSERT_TRUE(led) << led.error().message;
    inside_.network = network->get();
    ca_file_ = fleet()->folder().write("proxy-ca.pem", ca->certificate);
  }
  static void TearDownTestSuite() {
    FleetTest::TearDownTestSuite();
    proxy_.reset();
  }
  static KubeServer& hub() { return fleet()->hub(); }
  static KubeServer& member() { return fleet()->spoke(1); }
  static Ran join(const std::vector<std::string>& more) {
    auto args = join_args(ticket_);
    args.insert(args.end(), more.begin(), more.end());
    return run(args, inside_);
  }
  static int port_of(const std::string& address) { return std::stoi(address.substr(address.rfind(':') + 1)); }
  /// What the proxy is asked for.
  static std::string target_of(const std::string& address) { return "127.0.0.1:" + std::to_string(port_of(address)); }
  static bool went_to(const std::string& address) {
    const auto all = proxy_->connected();
    return std::ranges::find(all, target_of(address)) != all.end();
  }

  static inline Json ticket_;
  static inline std::unique_ptr<ForwardProxyServer> proxy_;
  static inline RunOptions inside_;
  static inline std::string ca_file_;
};

TEST_F(EgressProxy, A_WithoutItOrItsCaNothingIsInstalled) {
  for (const auto& more : {std::vector<std::string>{"--timeout", "5s"}, {"--proxy-url", proxy_->url()}}) {
    const Ran joined = join(more);
    EXPECT_EQ(joined.code, 1) << joined.both();
    EXPECT_EQ(joined.both().find("proxy-pass"), std::string::npos) << "a password is not told";
    EXPECT_TRUE(member().get("/api/v1/namespaces/open-cluster-management-agent").is_null());
  }
}

TEST_F(EgressProxy, B_TheClusterJoinsAndAppliesWorks) {
  const Ran joined = join({"--proxy-url", proxy_->url(), "--proxy-ca-file", ca_file_});
  ASSERT_EQ(joined.code, 0) << joined.both();
  const Ran accepted = run({"accept", "c1", "--context", "hub", "--yes", "--wait=available"});
  ASSERT_EQ(accepted.code, 0) << accepted.both();
  const Ran work =
      run({"create", "work", "far", "--clusters", "c1", "--context", "hub", "--wait", "-f", "-"},
          {.input = R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "far", "namespace": "default"}})"});
  EXPECT_EQ(work.code, 0) << work.both();
  EXPECT_FALSE(member().get("/api/v1/namespaces/default/configmaps/far").is_null());
  EXPECT_TRUE(went_to(hub().url()));
}

TEST_F(EgressProxy, C_RequestsComeThroughTheTunnelThatGoesByIt) {
  allow_carol(hub(), {{"apiGroups", {"proxy.open-cluster-management.io"}}, {"resources", {"clusters/proxy"}}, {"verbs", {"*"}}});
  allow_carol(member(), {{"apiGroups", {""}}, {"resources", {"configmaps"}}, {"verbs", {"get", "list"}}});
  RunOptions options;
  options.environment = {{"KUBECONFIG", hub().kubeconfig_file_for("carol")}};
  Ran read;
  eventually(
      [&] {
        read = run_fleetadm(fleet()->folder(), {"get", "configmaps", "-n", "default", "--clusters", "c1", "-o", "name"}, options);
        return read.code == 0;
      },
      std::chrono::seconds(60));
  EXPECT_EQ(read.code, 0) << read.both();
  EXPECT_NE(read.out.find("far"), std::string::npos) << read.both();
  EXPECT_TRUE(went_to(str(hub().get(kPublishedAt), {"data", "tunnel"})));
}

}  // namespace
}  // namespace fleetadm::testkit
