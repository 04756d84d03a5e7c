#include <gtest/gtest.h>

#include "commands/proxy/proxy.h"
#include "core/api/gateway.h"
#include "core/api/kinds.h"
#include "tests/support/fake_context.h"
#include "tests/support/fake_gateway.h"

namespace fleetadm::commands {
namespace {

class ProxyHealth : public testing::Test {
 protected:
  void SetUp() override {
    register_proxy(registry);
    hub->put(kube::resources::config_maps(),
             {{"metadata", {{"name", std::string(api::kGatewayConfigMap)}, {"namespace", std::string(api::kHubNamespace)}}},
              {"data", {{"server", "https://gateway:1"}, {"ca.crt", "PEM"}}}});
    context.connect = [this](const kube::RestConfig&) {
      return kube::Client(gateway, std::make_shared<kube::WriteGate>(), "gateway");
    };
  }
  void cluster(const std::string& name) { hub->put(api::managed_clusters(), {{"metadata", {{"name", name}}}}); }
  void healthy(const std::string& name) {
    cluster(name);
    gateway->add(name).route("/readyz", {200, {{"content-type", "text/plain"}}, "ok"});
  }
  Result<Report> health(const std::vector<std::pair<std::string, std::string>>& flags = {}) {
    return testkit::run_command(registry, "proxy health", context, flags, {});
  }

  std::shared_ptr<testkit::FakeApi> hub = testkit::FakeApi::make();
  std::shared_ptr<testkit::FakeGateway> gateway = std::make_shared<testkit::FakeGateway>();
  Registry registry;
  testkit::FakeContext context{hub->client()};
};

TEST_F(ProxyHealth, AllWell) {
  healthy("c2");
  healthy("c1");
  const auto report = health();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->exit_code, 0);
  ASSERT_EQ(report->table->rows.size(), 2U);
  EXPECT_EQ(report->table->rows[0][0], "c1");
  EXPECT_EQ(report->table->rows[0][1], "Healthy");
  EXPECT_TRUE(report->table->rows[0][2].ends_with("ms")) << report->table->rows[0][2];
  EXPECT_EQ(report->table->rows[0][3], "<none>");
  EXPECT_EQ(report->data["healthy"], 2);
  EXPECT_EQ(report->data["down"], 0);
}

TEST_F(ProxyHealth, SaysWhatAGatewayThatServesClusterProxyCannotMakeSafe) {
  healthy("c1");
  const auto without = health();
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_FALSE(without->data.contains("cautions"));
  Json published = *hub->get(kube::resources::config_maps(), api::kHubNamespace, api::kGatewayConfigMap);
  published["data"]["konnectivity"] = "accepted";
  hub->put(kube::resources::config_maps(), published);
  const auto report = health();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->exit_code, 0);
  ASSERT_EQ(report->data["cautions"].size(), 1U);
  EXPECT_NE(report->data["cautions"][0].get<std::string>().find("--accept-konnectivity"), std::string::npos);
  ASSERT_EQ(report->notes.size(), 1U);
}

TEST_F(ProxyHealth, NamesTheHopOfEachThatIsDown) {
  healthy("c1");
  cluster("c2");
  healthy("c3");
  gateway->silence("c3");
  cluster("c4");
  gateway->add("c4").route("/readyz", {500, {}, "[-]etcd failed: reason withheld"});
  const auto report = health({{"cluster-timeout", "200ms"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->exit_code, kPartialExitCode);
  const auto told = [&](std::size_t row) { return report->table->rows[row][1] + " " + report->table->rows[row][3]; };
  EXPECT_EQ(told(0), "Healthy <none>");
  EXPECT_EQ(told(1), "NoTunnel tunnel");
  EXPECT_EQ(told(2), "Timeout member");
  EXPECT_EQ(told(3), "NotReady member");
  EXPECT_EQ(report->table->rows[2][2], "<none>");
  EXPECT_EQ(str(report->data["items"][1], {"hop"}), "tunnel");
  EXPECT_EQ(report->data["items"][1]["code"], 503);
  EXPECT_NE(report->table->rows[3][4].find("etcd failed"), std::string::npos);
}

TEST_F(ProxyHealth, WhereNoneAnswersItIsAFailure) {
  cluster("c1");
  const auto report = health();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->exit_code, 1);
}

TEST_F(ProxyHealth, AMissingClusterIsNotOverlooked) {
  healthy("c1");
  const auto report = health({{"clusters", "c1"}, {"clusters", "c9"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->exit_code, kPartialExitCode);
  ASSERT_EQ(report->failures.size(), 1U);
}

}  // namespace
}  // namespace fleetadm::commands
