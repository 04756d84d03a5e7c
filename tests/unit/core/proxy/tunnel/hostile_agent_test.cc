// Agents that mean it ill: what they say of themselves is not believed, and what they send harms their own tunnel alone.
#include "tests/unit/core/proxy/tunnel/hostile_agent.h"

#include "tests/unit/core/proxy/tunnel/tunnel_lab.h"

namespace fleetadm::proxy {
namespace {

using namespace std::chrono_literals;

class HostileTunnels : public TunnelTest {
 protected:
  HostileTunnels() { server_options_.limits.keep_alive = {60s, 60s}; }

  std::unique_ptr<HostileAgent> hostile(const std::string& announces = {}, const std::string& name = "a1") {
    auto agent =
        std::make_unique<HostileAgent>(server_->port(), pki_.gateway_ca(), pki_.issue(TunnelPki::leaf_of("c1", name)), announces);
    EXPECT_TRUE(agent->connected());
    EXPECT_TRUE(agent->say(wire_frame(kWireSettings, 0, 0) + wire_frame(kWireSettings, kWireAck, 0)));
    EXPECT_TRUE(connected("c1"));
    return agent;
  }
  std::unique_ptr<TunnelClients> honest() {
    return agent(pki_.agent("c2"), [](const auto&, const auto& reply) { reply(serve::answer_text(200, "two")); });
  }
  bool two_answers() {
    const auto answer = send(get("/for-two"), false, "c2");
    return answer->has_ended() && answer->body() == "two";
  }
  /// Says it on a new tunnel of c1, for which a request is under way on stream 1; then the tunnel is over, the request has
  /// failed, and the other cluster has noticed nothing.
  void expect_cut(const std::string& bytes, const std::string& what) {
    const auto other = honest();
    ASSERT_TRUE(connected("c2"));
    const auto bad = hostile();
    const auto asked = send(get("/x"));
    ASSERT_TRUE(bad->hears(kWireHeaders)) << what;
    bad->say(bytes);
    EXPECT_TRUE(bad->is_closed_within(10s)) << what;
    ASSERT_TRUE(asked->has_ended()) << what;
    EXPECT_TRUE(asked->error()) << what;
    EXPECT_TRUE(comes_true([this] { return !registry_->has("c1"); })) << what;
    EXPECT_TRUE(two_answers()) << what;
  }
};

TEST_F(HostileTunnels, WhatATunnelAnnouncesIsNotItsCluster) {
  start_gateway();
  const auto first = hostile("c2");
  EXPECT_FALSE(registry_->has("c2"));
  const auto nobody = send(get("/for-two"), false, "c2");
  ASSERT_TRUE(nobody->has_ended());
  EXPECT_TRUE(nobody->error());

  auto other = honest();
  ASSERT_TRUE(connected("c2"));
  const auto second = hostile("c2.agents.example", "a2");
  EXPECT_TRUE(two_answers());

  // And before and after the other's agent comes back.
  other.reset();
  ASSERT_TRUE(comes_true([this] { return !registry_->has("c2"); }));
  const auto third = hostile("c2", "c2");
  EXPECT_FALSE(registry_->has("c2"));
  const auto still_nobody = send(get("/for-two"), false, "c2");
  ASSERT_TRUE(still_nobody->has_ended());
  EXPECT_TRUE(still_nobody->error());
  other = honest();
  ASSERT_TRUE(connected("c2"));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(two_answers());

  for (const auto* one : {&first, &second, &third}) {
    EXPECT_FALSE((*one)->is_closed_within(100ms));
    EXPECT_EQ((*one)->count(kWireHeaders), 0) << "it has heard of no request";
  }
  send(get("/for-one"));
  EXPECT_TRUE(third->hears(kWireHeaders)) << "its own cluster's it gets";
}

TEST_F(HostileTunnels, AnAgentAsksNothingOfTheGateway) {
  start_gateway();
  const std::string asked = wire_header(":method", "GET") + wire_header(":scheme", "https") +
                            wire_header(":path", "/clusters/c2/proxy/api/v1/secrets") + wire_header(":authority", "c2");
  for (const std::uint32_t stream : {3U, 2U}) {
    expect_cut(wire_frame(kWireHeaders, kWireEndStream | kWireEndHeaders, stream, asked), "a request");
  }
  expect_cut(wire_frame(kWirePush, kWireEndHeaders, 1, wire_number(2) + asked), "a promise of one");
  expect_cut("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "the first words of a client");
  expect_cut("GET /clusters/c2/proxy/version HTTP/1.1\r\nhost: c2\r\n\r\n", "HTTP/1.1");
}

TEST_F(HostileTunnels, FramesThatBreakTheProtocolEndTheTunnel) {
  start_gateway();
  const std::string ok = wire_header(":status", "200");
  std::string continued = wire_frame(kWireHeaders, 0, 1, ok);
  for (int i = 0; i < 2000; ++i) continued += wire_frame(kWireContinuation, 0, 1, wire_header("x", "y"));
  expect_cut(continued, "a head without end");
  expect_cut(wire_frame(kWireHeaders, 0, 1, ok) + wire_frame(kWirePing, 0, 0, "01234567"), "a frame within a head");
  expect_cut(wire_frame(kWireContinuation, kWireEndHeaders, 1, ok), "a continuation of nothing");
  expect_cut(wire_frame(kWireData, 0, 0, "x"), "data of no stream");
  expect_cut(wire_frame(kWireReset, 0, 99, wire_number(8)), "a reset of a stream that is not there");
  expect_cut(wire_frame(kWireWindow, 0, 0, wire_number(0)), "a window that opens by nothing");
  expect_cut(wire_frame(kWireWindow, 0, 0, wire_number(0x7FFFFFFF)), "a window that is too large");
  expect_cut(wire_frame(kWireSettings, 0, 0, std::string("\0\4", 2) + wire_number(0x80000000)), "an initial window that is none");
  expect_cut(wire_frame(kWireSettings, 0, 1), "settings of a stream");
  expect_cut(wire_frame(kWirePing, 0, 0, "short"), "a short ping");
  expect_cut(wire_frame(kWireHeaders, kWireEndHeaders, 1, "\xFF\xFF\xFF\xFF\xFF\xFF"), "headers that cannot be read");
  std::string large = wire_frame(kWireData, 0, 1);
  large.replace(0, 3, std::string("\x01\0\x01", 3));
  expect_cut(large, "a frame of more than 64 KiB");
  std::string huge = wire_frame(kWireData, 0, 1);
  huge.replace(0, 3, "\xFF\xFF\xFF");
  expect_cut(huge, "a frame of 16 MiB");
}

TEST_F(HostileTunnels, FloodsEndTheTunnel) {
  start_gateway();
  const auto many = [](const std::string& frame, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += frame;
    return out;
  };
  expect_cut(many(wire_frame(kWireSettings, 0, 0), 5000), "settings");
  expect_cut(wire_frame(kWireSettings, 0, 0, many(std::string("\0\4\0\0\1\0", 6), 100)), "many settings at once");
  expect_cut(many(wire_frame(kWirePing, 0, 0, "01234567"), 5000), "pings");
  expect_cut(many(wire_frame(kWirePriority, 0, 1, wire_number(0) + "x"), 5000), "priorities");
  expect_cut(
      wire_frame(kWireHeaders, kWireEndHeaders, 1, wire_header(":status", "200")) + many(wire_frame(kWireData, 0, 1), 5000),
      "empty data");
}

TEST_F(HostileTunnels, ASenderThatIgnoresItsWindowIsCut) {
  server_options_.limits.window = 64 * 1024;
  start_gateway();
  std::string all = wire_frame(kWireHeaders, kWireEndHeaders, 1, wire_header(":status", "200"));
  for (int i = 0; i < 1000; ++i) all += wire_frame(kWireData, 0, 1, std::string(16 * 1024, 'x'));
  const auto bad = hostile();
  const auto asked = send(get("/x"), true);  // which is not read
  ASSERT_TRUE(bad->hears(kWireHeaders));
  bad->say(all);
  // The stream or the tunnel ends, and 16 MiB are not held for it.
  EXPECT_TRUE(bad->is_closed_within(10s) || bad->count(kWireReset) > 0);
  asked->read();
  ASSERT_TRUE(asked->has_ended());
  EXPECT_FALSE(asked->whole());
  EXPECT_LE(asked->body().size(), 2 * 64U * 1024U);
}

TEST_F(HostileTunnels, AnswersThatLieAreFailures) {
  start_gateway();
  const auto other = honest();
  ASSERT_TRUE(connected("c2"));
  const auto answered = [&](const std::string& head, bool upgrade) {
    const auto bad = hostile();
    auto request = get("/x");
    if (upgrade) request.headers = {{"connection", "Upgrade"}, {"upgrade", "SPDY/3.1"}};
    auto answer = send(std::move(request));
    EXPECT_TRUE(bad->hears(kWireHeaders));
    bad->say(wire_frame(kWireHeaders, kWireEndHeaders | kWireEndStream, 1, head));
    EXPECT_TRUE(answer->has_ended());
    return answer;
  };
  const std::string ok = wire_header(":status", "200");
  for (const std::string& head :
       {wire_header(":status", "101"), wire_header(":status", "999"), wire_header(":status", "0"), wire_header(":status", "abc"),
        wire_header("x", "y"), ok + ok, ok + wire_header("x", "a\r\nx-injected: b"),
        ok + wire_header("x", std::string("a\0b", 3)), ok + wire_header("transfer-encoding", "chunked"),
        ok + wire_header("Upper", "case"), ok + wire_header("content-length", "5")}) {
    for (const bool upgrade : {false, true}) {
      const auto answer = answered(head, upgrade);
      EXPECT_TRUE(answer->error() || !answer->whole()) << head;
      EXPECT_FALSE(answer->upgraded()) << head;
      EXPECT_TRUE(two_answers());
    }
  }
  const auto unasked = answered(ok + wire_header("fleetadm-switched", "SPDY/3.1"), false);
  EXPECT_EQ(unasked->status(), 200);
  EXPECT_FALSE(unasked->upgraded()) << "nobody asked for another protocol";
}

}  // namespace
}  // namespace fleetadm::proxy
