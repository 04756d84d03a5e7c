// The relay before something like a gateway, before a sandbox API server with a pod.
#include "core/proxy/client/member_relay.h"

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
  MemberRelayTest() {
    lab.add_pod("p", "exec sleep 1000");
    api::PublishedGateway published;
    published.server = gateway.server();
    published.ca = gateway.ca();
    kube::RestConfig hub;
    hub.credentials = kube::static_credentials({.token = "of-the-hub"});
    hub.impersonate_user = "somebody";
    member = *member_config(hub, published, "c1");
  }
  void start(const std::string& token) {
    auto started = MemberRelay::start({member, [token]() -> Result<std::string> { return token; }});
    ASSERT_TRUE(started) << started.error().message;
    relay = std::move(*started);
  }
  kube::RestConfig through_relay() const {
    kube::RestConfig config;
    config.server = relay->server();
    config.ca_data = relay->ca();
    config.credentials = kube::static_credentials({.token = relay->token()});
    config.name = "relay";
    return config;
  }

  testkit::StreamLab lab;
  testkit::GatewayLab gateway{lab.config()};
  kube::RestConfig member;
  std::unique_ptr<MemberRelay> relay;
};

TEST_F(MemberRelayTest, AddsWhoAsksAndTheMembersToken) {
  start("of-the-member");
  EXPECT_TRUE(relay->server().starts_with("https://127.0.0.1:"));
  const auto pods = kube::Client::connect(through_relay()).list(kube::resources::pods(), "default");
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
  start("of-the-member");
  for (const std::string& token : {std::string(), std::string("of-the-member"), relay->token() + "x", relay->token().substr(1)}) {
    const auto answer = testkit::https({.url = relay->server() + "/api/v1/pods", .ca = relay->ca(), .token = token});
    EXPECT_EQ(answer.status, 401) << token;
  }
  EXPECT_EQ(testkit::https({.url = relay->server() + "/version", .ca = gateway.ca(), .token = relay->token()}).status, 0)
      << "its certificate is its own";
  EXPECT_TRUE(gateway.seen().empty());
}

TEST_F(MemberRelayTest, CarriesStreamsBothWays) {
  start("of-the-member");
  kube::Request request;
  request.path = "/api/v1/namespaces/default/pods/p/exec";
  request.query = {{"stdin", "true"}, {"stdout", "true"}, {"command", "cat"}};
  auto stream = kube::CommandStream::open(through_relay(), request);
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

TEST_F(MemberRelayTest, DoesNotStartWithoutAToken) {
  const auto started =
      MemberRelay::start({member, []() -> Result<std::string> { return fail(Category::kNotFound, "no such account"); }});
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message, "no such account");
}

}  // namespace
}  // namespace fleetadm::proxy
