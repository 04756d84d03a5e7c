// The relay before something like a gateway, before a sandbox API server with a pod.
#include "core/proxy/client/member_relay.h"

#include <atomic>
#include <gtest/gtest.h>

#include "core/proxy/client/gateway_access.h"
#include "kubeclient/rest/client.h"
#include "kubeclient/stream/command_stream.h"
#include "tests/support/gateway_lab.h"
#include "tests/support/https.h"
#include "tests/support/stream_lab.h"

namespace fleetadm::proxy {
namespace {

class MemberRelayTest : public testing::Test {
 protected:
  MemberRelayTest() { lab.add_pod("p", "exec sleep 1000"); }
  Result<MemberRoute> route_to(const std::string& cluster) const {
    MemberRoute route;
    route.server = gateway.server();
    route.ca = gateway.ca();
    route.prefix = *member_prefix(cluster);
    route.token = "of-the-member";
    return route;
  }
  void start(FindRoute route) {
    auto started = MemberRelay::start({std::move(route), kube::static_credentials({.token = "of-the-hub"})});
    ASSERT_TRUE(started) << started.error().message;
    relay = std::move(*started);
  }
  void start() {
    start([this](const std::string& cluster) { return route_to(cluster); });
  }
  kube::RestConfig to(const std::string& cluster) const {
    kube::RestConfig config = relay_config(relay);
    config.server += *member_prefix(cluster);
    return config;
  }
  Result<Json> pods_of(const std::string& cluster) const {
    return kube::Client::connect(to(cluster)).list(kube::resources::pods(), "default");
  }

  testkit::StreamLab lab;
  testkit::GatewayLab gateway{lab.config()};
  std::shared_ptr<MemberRelay> relay;
};

TEST_F(MemberRelayTest, AddsWhoAsksAndTheMembersToken) {
  start();
  EXPECT_TRUE(relay->server().starts_with("https://127.0.0.1:"));
  const auto pods = pods_of("c1");
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_EQ(list_at(*pods, {"items"}).size(), 1U);
  ASSERT_EQ(gateway.seen().size(), 1U);
  const auto seen = gateway.seen().front();
  EXPECT_EQ(seen.path, "/clusters/c1/proxy/api/v1/namespaces/default/pods");
  EXPECT_EQ(seen.authorization, "Bearer of-the-hub");
  EXPECT_EQ(seen.member_token, "of-the-member");
  EXPECT_FALSE(seen.impersonates);
}

TEST_F(MemberRelayTest, AnswersNobodyWithoutItsToken) {
  start();
  const std::string pods = relay->server() + "/clusters/c1/proxy/api/v1/pods";
  for (const std::string& token : {std::string(), std::string("of-the-member"), relay->token() + "x", relay->token().substr(1)}) {
    const auto answer = testkit::https({.url = pods, .ca = relay->ca(), .token = token});
    EXPECT_EQ(answer.status, 401) << token;
  }
  EXPECT_EQ(testkit::https({.url = pods, .ca = gateway.ca(), .token = relay->token()}).status, 0) << "its certificate is its own";
  EXPECT_EQ(testkit::https({.url = relay->server() + "/api/v1/pods", .ca = relay->ca(), .token = relay->token()}).status, 404)
      << "no cluster is named";
  EXPECT_TRUE(gateway.seen().empty());
}

TEST_F(MemberRelayTest, CarriesStreamsBothWays) {
  start();
  kube::Request request;
  request.path = "/api/v1/namespaces/default/pods/p/exec";
  request.query = {{"stdin", "true"}, {"stdout", "true"}, {"command", "cat"}};
  auto stream = kube::CommandStream::open(to("c1"), request);
  ASSERT_TRUE(stream) << stream.error().message;
  ASSERT_TRUE((*stream)->send_input("through both", std::chrono::seconds(5)));
  ASSERT_TRUE((*stream)->end_input());
  std::string heard;
  while (!(*stream)->over()) {
    const auto piece = (*stream)->next(std::chrono::seconds(10));
    ASSERT_TRUE(piece) << piece.error().message;
    if (*piece) heard += (*piece)->bytes;
  }
  EXPECT_EQ(heard, "through both");
  EXPECT_EQ((*stream)->exit_code(), 0);
}

TEST_F(MemberRelayTest, FindsTheWayToEachClusterOnce) {
  std::atomic<int> asked = 0;
  start([&](const std::string& cluster) {
    ++asked;
    return route_to(cluster);
  });
  for (const char* cluster : {"c1", "c2", "c1", "c2", "c1"}) {
    const auto pods = pods_of(cluster);
    ASSERT_TRUE(pods) << pods.error().message;
  }
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(gateway.seen().back().path, "/clusters/c1/proxy/api/v1/namespaces/default/pods");
}

TEST_F(MemberRelayTest, AClusterWithoutAWayIsNoReasonToFailAnother) {
  start([this](const std::string& cluster) -> Result<MemberRoute> {
    if (cluster == "c2") return fail(Category::kNotFound, "the account has no token");
    return route_to(cluster);
  });
  const auto refused = pods_of("c2");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the account has no token");
  EXPECT_EQ(refused.error().reason, kNoRoute);
  EXPECT_NE(refused.error().code, 404) << "which would say that the member has no such object";
  EXPECT_TRUE(pods_of("c1"));
}

TEST_F(MemberRelayTest, ClustersOfOtherServersAreToldNothingOfTheHub) {
  start([this](const std::string& cluster) {
    auto route = route_to(cluster);
    route->way = Way::kUserServer;
    if (cluster == "c2") route->token.clear();
    return route;
  });
  ASSERT_TRUE(pods_of("c1"));
  EXPECT_EQ(gateway.seen().back().authorization, "Bearer of-the-member") << "and not of-the-hub";
  EXPECT_EQ(gateway.seen().back().member_token, "");
  ASSERT_TRUE(pods_of("c2"));
  EXPECT_EQ(gateway.seen().back().authorization, "") << "without a token of the member's, none at all";
}

}  // namespace
}  // namespace fleetadm::proxy
