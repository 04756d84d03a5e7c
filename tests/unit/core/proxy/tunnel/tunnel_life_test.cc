// Tunnels that break, are replaced, and end: nothing is lost that did not have to be.
#include <atomic>

#include "tests/support/faulty_relay.h"
#include "tests/unit/core/proxy/tunnel/tunnel_lab.h"

namespace fleetadm::proxy {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

class TunnelLife : public TunnelTest {
 protected:
  /// "/stream" is what the test writes, anything else is answered at once.
  void serve_one(serve::HttpRequest request, serve::Reply reply) override {
    if (request.path != "/stream") return TunnelTest::serve_one(std::move(request), std::move(reply));
    auto pipe = serve::make_body_pipe(64 * 1024);
    {
      const std::lock_guard lock(mutex_);
      writer_ = pipe.writer;
    }
    serve::HttpResponse response;
    response.stream = std::move(pipe.reader);
    reply(std::move(response));
  }
  std::shared_ptr<serve::BodyWriter> writer() {
    const std::lock_guard lock(mutex_);
    return writer_;
  }
  Answer open_stream() {
    auto answer = send(get("/stream"));
    EXPECT_TRUE(answer->has_head());
    writer()->push("begun");
    EXPECT_TRUE(answer->has(5));
    return answer;
  }
  bool answers(const std::string& cluster = "c1") {
    const auto answer = send(get("/x"), false, cluster);
    return answer->has_ended() && !answer->error() && answer->status() == 200;
  }

  std::mutex mutex_;
  std::shared_ptr<serve::BodyWriter> writer_;
};

TEST_F(TunnelLife, AGatewayThatStartsAgainHasItsTunnelsBackSoon) {
  start_gateway();
  const int port = server_->port();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  server_.reset();
  EXPECT_EQ(registry_->size(), 0U);
  EXPECT_TRUE(comes_true([&] { return !clients->states()[0].connected; }));
  const auto at = Steady::now();
  start_gateway(port);
  ASSERT_TRUE(connected());
  EXPECT_TRUE(answers());
  EXPECT_LT(Steady::now() - at, 1500ms);
}

TEST_F(TunnelLife, WhatRunsOnATunnelThatBreaksEndsWithAnError) {
  start_gateway();
  auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  const auto stream = open_stream();
  clients.reset();
  ASSERT_TRUE(stream->has_ended());
  EXPECT_FALSE(stream->whole());
  EXPECT_EQ(stream->body(), "begun");
  EXPECT_TRUE(comes_true([this] { return registry_->size() == 0; }));
  const auto late = send(get("/x"));
  ASSERT_TRUE(late->error());
  EXPECT_EQ(late->error()->category, Category::kUnavailable);
}

TEST_F(TunnelLife, ANetworkThatIsGoneWithoutAWordIsNoticedByBothEnds) {
  server_options_.limits.keep_alive = client_options_.limits.keep_alive = {1000ms, 1500ms};
  server_options_.limits.silence = 800ms;
  start_gateway();
  testkit::FaultyRelay relay(server_->port());
  const auto clients = agent(pki_.agent("c1"), {}, relay.port());
  ASSERT_TRUE(connected());
  ASSERT_TRUE(answers());
  std::this_thread::sleep_for(3500ms);
  EXPECT_TRUE(registry_->has("c1")) << "an idle tunnel is kept";
  EXPECT_EQ(clients->states()[0].failures, 0U);
  const auto since = clients->states()[0].since;
  relay.swallow();
  const auto at = Steady::now();
  const auto lost = send(get("/x"));
  ASSERT_TRUE(lost->has_ended());
  ASSERT_TRUE(lost->error());
  EXPECT_EQ(lost->error()->category, Category::kTimeout);
  EXPECT_LT(lost->came() - at, 2500ms);
  EXPECT_TRUE(comes_true([&] { return clients->states()[0].since != since && clients->states()[0].connected; }));
  EXPECT_LT(Steady::now() - at, 6s);
  EXPECT_TRUE(answers()) << "on the new one";
}

TEST_F(TunnelLife, ANewCertificateMakesANewConnectionAndDropsNothing) {
  client_options_.certificate_check = 100ms;
  start_gateway();
  std::mutex mutex;
  auto current = pki_.agent("c1");
  auto options = client_options_;
  options.certificate = [&]() -> Result<pki::KeyPair> {
    const std::lock_guard lock(mutex);
    return current;
  };
  options.handle = [this](auto request, auto reply) { serve_one(std::move(request), std::move(reply)); };
  TunnelClients clients(agent_runtime_, options);
  ASSERT_TRUE(clients.set_gateways({server_->endpoint()}, pki_.gateway_ca()));
  ASSERT_TRUE(connected());
  const auto stream = open_stream();
  const auto on_old = writer();
  std::atomic<bool> over{false};
  std::atomic<int> failures{0};
  std::thread load([&] {
    while (!over) failures += answers() ? 0 : 1;
  });
  {
    const std::lock_guard lock(mutex);
    current = pki_.issue(TunnelPki::leaf_of("c1", "a2"));
  }
  EXPECT_TRUE(comes_true([&] {
    const auto list = registry_->list();
    return list.size() == 2 && list[0].draining && list[1].agent == "a2";
  }));
  std::this_thread::sleep_for(300ms);
  over = true;
  load.join();
  EXPECT_EQ(failures, 0);
  on_old->push(" and goes on");
  ASSERT_TRUE(stream->has(17));
  on_old->finish();
  ASSERT_TRUE(stream->has_ended());
  EXPECT_TRUE(stream->whole());
  EXPECT_TRUE(comes_true([&] { return registry_->size() == 1; })) << "the old one closes when its last stream has ended";
  EXPECT_TRUE(answers());
  EXPECT_TRUE(clients.states()[0].connected);
}

TEST_F(TunnelLife, ANewCertificateOfTheGatewayDropsNothing) {
  start_gateway();
  const auto first = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  const auto stream = open_stream();
  ASSERT_TRUE(server_->renew(pki_.gateway(), pki_.hub_ca()));
  const auto second = agent(pki_.agent("c2"));
  ASSERT_TRUE(connected("c2"));
  writer()->finish();
  ASSERT_TRUE(stream->has_ended());
  EXPECT_TRUE(stream->whole());
}

TEST_F(TunnelLife, AnotherClientCaCountsForNewConnections) {
  start_gateway();
  const auto first = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  const auto other = *pki::make_ca("hub", std::chrono::hours(1));
  ASSERT_TRUE(server_->renew(pki_.gateway(), other.certificate));
  const auto old = agent(pki_.agent("c2"));
  const auto now = agent(*pki::issue(other, TunnelPki::leaf_of("c3")));
  EXPECT_TRUE(connected("c3"));
  EXPECT_TRUE(comes_true([&] { return old->states()[0].failures >= 2; }));
  EXPECT_FALSE(registry_->has("c2"));
  EXPECT_TRUE(registry_->has("c1"));
}

TEST_F(TunnelLife, AnAgentThatDrainsEndsWhatRunsInOrder) {
  start_gateway();
  const auto leaving = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  const auto stream = open_stream();
  const auto running = writer();
  const auto staying = agent(pki_.issue(TunnelPki::leaf_of("c1", "a2")));
  ASSERT_TRUE(comes_true([this] { return registry_->size() == 2; }));
  std::atomic<int> drained{-1};
  std::thread drain([&] { drained = leaving->drain(10s) ? 1 : 0; });
  ASSERT_TRUE(comes_true([this] { return registry_->list()[0].draining; }));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(answers()) << "by the other";
  running->push(" and ended");
  running->finish();
  ASSERT_TRUE(stream->has_ended());
  EXPECT_TRUE(stream->whole());
  EXPECT_EQ(stream->body(), "begun and ended");
  drain.join();
  EXPECT_EQ(drained, 1);
  EXPECT_TRUE(comes_true([this] { return registry_->size() == 1; }));
}

TEST_F(TunnelLife, ADrainHasAnEnd) {
  start_gateway();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  const auto stream = open_stream();
  EXPECT_FALSE(clients->drain(300ms));
  ASSERT_TRUE(stream->has_ended());
  EXPECT_FALSE(stream->whole());
}

TEST_F(TunnelLife, AGatewayThatDrainsEndsWhatRunsInOrder) {
  start_gateway();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  const auto stream = open_stream();
  server_->drain();
  ASSERT_TRUE(comes_true([this] { return !registry_->has("c1"); }));
  EXPECT_FALSE(server_->wait_drained(200ms));
  writer()->finish();
  ASSERT_TRUE(stream->has_ended());
  EXPECT_TRUE(stream->whole());
  EXPECT_TRUE(server_->wait_drained(10s));
  EXPECT_EQ(registry_->size(), 0U);
}

TEST_F(TunnelLife, AnAgentThatIsToldToLeaveComesAgainBesideWhatRuns) {
  start_gateway();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  const auto stream = open_stream();
  const auto running = writer();
  gateway_runtime_.on_io_thread([this] { registry_->drain_all(); });
  ASSERT_TRUE(connected());
  EXPECT_EQ(registry_->size(), 2U);
  EXPECT_TRUE(answers());
  running->finish();
  ASSERT_TRUE(stream->has_ended());
  EXPECT_TRUE(stream->whole());
  EXPECT_TRUE(comes_true([this] { return registry_->size() == 1; }));
}

TEST_F(TunnelLife, ATunnelWhoseCertificateExpiresTakesNothingNew) {
  std::atomic<std::time_t> now{std::time(nullptr)};
  server_options_.now = [&] { return now.load(); };
  start_gateway();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  const auto stream = open_stream();
  const auto running = writer();
  now += 2 * 365 * 24 * 3600L;
  ASSERT_TRUE(comes_true([this] { return !registry_->has("c1"); }));
  running->finish();
  ASSERT_TRUE(stream->has_ended());
  EXPECT_TRUE(stream->whole());
  EXPECT_TRUE(comes_true([this] { return registry_->size() == 0; })) << "and is refused with it";
}

TEST_F(TunnelLife, AClusterThatIsNoLongerAcceptedIsCut) {
  start_gateway();
  std::atomic<int> changes{0};
  registry_->on_change([&](const std::string& cluster, std::size_t) { changes += cluster == "c1" ? 1 : 0; });
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  const auto stream = open_stream();
  gateway_runtime_.on_io_thread([this] { registry_->cut("c1", "was cut: the cluster is not accepted"); });
  ASSERT_TRUE(stream->has_ended());
  EXPECT_FALSE(stream->whole());
  EXPECT_TRUE(comes_true([&] { return changes >= 2; }));
}

TEST_F(TunnelLife, GatewaysComeAndGoWithTheList) {
  start_gateway();
  const auto other_registry = std::make_shared<TunnelRegistry>();
  const auto other = TunnelServer::start(gateway_runtime_, server_options_, other_registry);
  ASSERT_TRUE(other);
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  ASSERT_TRUE(clients->set_gateways({server_->endpoint(), (*other)->endpoint(), server_->endpoint()}, pki_.gateway_ca()));
  ASSERT_TRUE(comes_true([&] { return other_registry->has("c1"); }));
  EXPECT_EQ(clients->states().size(), 2U);
  EXPECT_EQ(registry_->size(), 1U);
  ASSERT_TRUE(clients->set_gateways({(*other)->endpoint()}, pki_.gateway_ca()));
  EXPECT_TRUE(comes_true([&] { return registry_->size() == 0; }));
  EXPECT_TRUE(other_registry->has("c1"));
}

TEST_F(TunnelLife, AnAgentsSecondReplicaTakesOver) {
  start_gateway();
  auto first = agent(pki_.agent("c1"), [](const auto&, const auto& reply) { reply(serve::answer_text(200, "first")); });
  ASSERT_TRUE(connected());
  const auto second = agent(pki_.agent("c1"), [](const auto&, const auto& reply) { reply(serve::answer_text(200, "second")); });
  ASSERT_TRUE(comes_true([this] { return registry_->size() == 2; }));
  const auto newest = send(get("/x"));
  ASSERT_TRUE(newest->has_ended());
  EXPECT_EQ(newest->body(), "second");
  first.reset();
  ASSERT_TRUE(comes_true([this] { return registry_->size() == 1; }));
  EXPECT_TRUE(answers());
}

TEST_F(TunnelLife, ManyTunnelsOfOneClusterAreTheNewest) {
  start_gateway();
  std::vector<std::unique_ptr<TunnelClients>> all;
  for (std::size_t i = 0; i < TunnelRegistry::kMostTunnels; ++i) {
    all.push_back(agent(pki_.issue(TunnelPki::leaf_of("c1", "a" + std::to_string(i)))));
    ASSERT_TRUE(comes_true([&] { return registry_->size() == i + 1; }));
  }
  client_options_.first_delay = 10s;  // it does not push out another one in turn
  const auto last = agent(pki_.issue(TunnelPki::leaf_of("c1", "last")));
  ASSERT_TRUE(comes_true([&] {
    const auto list = registry_->list();
    return list.size() == TunnelRegistry::kMostTunnels &&
           std::ranges::any_of(list, [](const auto& each) { return each.agent == "last"; });
  }));
  EXPECT_TRUE(answers());
}

}  // namespace
}  // namespace fleetadm::proxy
