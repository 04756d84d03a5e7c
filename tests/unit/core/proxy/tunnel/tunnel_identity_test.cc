// Who may open a tunnel, and for which cluster it then is: what the certificate says, and nothing else.
#include "tests/support/raw_client.h"
#include "tests/unit/core/proxy/tunnel/tunnel_lab.h"

namespace fleetadm::proxy {
namespace {

using namespace std::chrono_literals;

class TunnelIdentity : public TunnelTest {
 protected:
  /// It is closed, with an attempt after the other, and makes no tunnel.
  void expect_refused(pki::KeyPair certificate, const std::string& why) {
    const auto clients = agent(std::move(certificate));
    EXPECT_TRUE(comes_true([&] { return clients->states()[0].failures >= 2; })) << why;
    EXPECT_FALSE(clients->states()[0].connected) << why;
    EXPECT_FALSE(clients->states()[0].error.empty()) << why;
    EXPECT_EQ(registry_->size(), 0U) << why;
  }
};

TEST_F(TunnelIdentity, ACertificateOfAnythingButAClustersAgentIsRefused) {
  client_options_.first_delay = 20ms;
  start_gateway();
  const std::string prefix = "system:open-cluster-management:";
  const std::string all = prefix + "managed-clusters";
  for (const char* name :
       {"jane", "system:open-cluster-management:c1", "system:open-cluster-management::a1",
        "system:open-cluster-management:c1:", "system:open-cluster-management:c1:a1:b", "system:open-cluster-management:C1:a1",
        "system:open-cluster-management:cluster:c1:addon:x:agent:a", "system:open-cluster-management:c1:a 1",
        "System:open-cluster-management:c1:a1", " system:open-cluster-management:c1:a1"}) {
    auto leaf = TunnelPki::leaf_of("c1");
    leaf.subject.common_name = name;
    expect_refused(pki_.issue(leaf), name);
  }
  for (const std::vector<std::string>& groups :
       {std::vector<std::string>{}, std::vector<std::string>{all}, std::vector<std::string>{prefix + "c1"},
        std::vector<std::string>{prefix + "c2", all}, std::vector<std::string>{prefix + "c1", prefix + "c2", all},
        std::vector<std::string>{prefix + "c1", all, "system:masters"}}) {
    auto leaf = TunnelPki::leaf_of("c1");
    leaf.subject.organizations = groups;
    std::string why;
    for (const auto& group : groups) why += group + " ";
    expect_refused(pki_.issue(leaf), why);
  }
  auto leaf = TunnelPki::leaf_of("c1");
  leaf.subject.organizational_units = {"more"};
  expect_refused(pki_.issue(leaf), "an organizational unit");
}

TEST_F(TunnelIdentity, ACertificateThatIsNotValidForClientsIsRefused) {
  client_options_.first_delay = 20ms;
  start_gateway();
  expect_refused({}, "none");
  auto leaf = TunnelPki::leaf_of("c1");
  leaf.client = false;
  leaf.server = true;
  expect_refused(pki_.issue(leaf), "for servers alone");
  leaf.server = false;
  expect_refused(pki_.issue(leaf), "for nothing that it says");
  leaf = TunnelPki::leaf_of("c1");
  leaf.backdate = std::chrono::hours(2);
  leaf.validity = std::chrono::hours(-1);
  expect_refused(pki_.issue(leaf), "expired");
  expect_refused(*pki::issue(*pki::make_ca("hub", std::chrono::hours(1)), TunnelPki::leaf_of("c1")), "another hub's");
}

TEST_F(TunnelIdentity, AGatewayWhoseClockIsBehindTakesACertificateThatWasJustIssued) {
  client_options_.first_delay = 20ms;
  start_gateway();
  auto leaf = TunnelPki::leaf_of("c2");
  leaf.backdate = -std::chrono::minutes(70);
  expect_refused(pki_.issue(leaf), "valid later than clocks are apart");
  leaf.backdate = -std::chrono::minutes(10);
  expect_refused(*pki::issue(*pki::make_ca("hub", std::chrono::hours(24)), leaf), "all else is judged as ever: another hub's");
  leaf.client = false;
  leaf.server = true;
  expect_refused(pki_.issue(leaf), "all else is judged as ever: for servers");
  leaf = TunnelPki::leaf_of("c1");
  leaf.backdate = -std::chrono::minutes(10);
  const auto one = agent(pki_.issue(leaf), [](const auto&, const auto& reply) { reply(serve::answer_text(200, "one")); });
  EXPECT_TRUE(connected("c1"));
}

TEST_F(TunnelIdentity, TheClusterIsTheCertificatesAndNeverAnother) {
  start_gateway();
  const auto one = agent(pki_.agent("c1"), [](const auto&, const auto& reply) { reply(serve::answer_text(200, "one")); });
  const auto ten = agent(pki_.agent("c10"), [](const auto&, const auto& reply) { reply(serve::answer_text(200, "ten")); });
  ASSERT_TRUE(connected("c1"));
  ASSERT_TRUE(connected("c10"));
  for (int i = 0; i < 3; ++i) {
    const auto answer = send(get("/x"), false, i % 2 == 0 ? "c1" : "c10");
    ASSERT_TRUE(answer->has_ended());
    EXPECT_EQ(answer->body(), i % 2 == 0 ? "one" : "ten");
  }
  EXPECT_FALSE(registry_->has("c"));
  EXPECT_FALSE(registry_->has("c100"));
}

TEST_F(TunnelIdentity, AGatewayThatTheAgentDoesNotKnowGetsNothing) {
  client_options_.first_delay = 20ms;
  start_gateway();
  TunnelClientOptions options = client_options_;
  options.certificate = [this]() -> Result<pki::KeyPair> { return pki_.agent("c1"); };
  options.handle = [](const auto&, const auto& reply) { reply(serve::answer_text(200, "never")); };
  TunnelClients clients(agent_runtime_, std::move(options));
  const std::string port = std::to_string(server_->port());
  ASSERT_TRUE(clients.set_gateways({"127.0.0.1:" + port, "localhost:" + port}, pki_.hub_ca()));
  ASSERT_TRUE(comes_true([&] {
    const auto states = clients.states();
    return states.size() == 2 && states[0].failures >= 2 && states[1].failures >= 2;
  }));
  EXPECT_NE(clients.states()[0].error.find("certificate"), std::string::npos) << clients.states()[0].error;
  ASSERT_TRUE(clients.set_gateways({"127.0.0.1:" + port, "localhost:" + port}, pki_.gateway_ca()));
  EXPECT_TRUE(comes_true([&] { return clients.states()[0].connected; }));
  EXPECT_TRUE(comes_true([&] { return clients.states()[1].error.find("mismatch") != std::string::npos; }))
      << "the certificate is for the address, and not for this name: " << clients.states()[1].error;
}

TEST_F(TunnelIdentity, WhatSpeaksNoHttp2OrAnOlderTlsIsClosed) {
  start_gateway();
  testkit::RawClient client(server_->port(), pki_.gateway_ca(), pki_.agent("c1"));
  std::string bytes;
  if (client.connected()) {
    static_cast<void>(client.send("GET / HTTP/1.1\r\nhost: gateway\r\n\r\n"));
    EXPECT_FALSE(client.receive(bytes)) << bytes;
    EXPECT_TRUE(client.closed());
  }
  EXPECT_EQ(registry_->size(), 0U);
}

TEST_F(TunnelIdentity, AddressesThatAreNoneAreRefused) {
  TunnelClientOptions options;
  options.certificate = []() -> Result<pki::KeyPair> { return pki::KeyPair(); };
  TunnelClients clients(agent_runtime_, std::move(options));
  for (const char* address : {"", "gateway", "gateway:", ":443", "gateway:x", "gateway:0", "gateway:70000", "[::1:443"}) {
    const auto status = clients.set_gateways({address}, "");
    ASSERT_FALSE(status) << address;
    EXPECT_EQ(status.error().category, Category::kUsage);
  }
  EXPECT_TRUE(clients.states().empty());
}

}  // namespace
}  // namespace fleetadm::proxy
