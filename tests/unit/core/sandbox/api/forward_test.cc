// port-forward through a server: connections to a pod's ports over SPDY, over SPDY in a WebSocket, and over WebSocket channels.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <thread>

#include "tests/support/echo_port.h"
#include "tests/support/stream_clients.h"
#include "tests/support/stream_lab.h"

namespace fleetadm::sandbox {
namespace {

using namespace std::chrono_literals;
using testkit::EchoPort;
using testkit::joined;
using testkit::RawClient;
using testkit::SpdyClient;
using testkit::StreamLab;
using testkit::WebSocketClient;

/// A client's end of SPDY, as it is or in a WebSocket.
class Tunnel {
 public:
  explicit Tunnel(RawClient& raw, bool websocket) : raw_(raw), socket_(raw), websocket_(websocket) {}

  int open(const std::string& target) {
    if (websocket_) return socket_.open(target, "SPDY/3.1+portforward.k8s.io");
    std::string head;
    return send_upgrade(raw_,
                        "POST " + target +
                            " HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\ncontent-length: 0\r\n"
                            "x-stream-protocol-version: portforward.k8s.io\r\n",
                        head, bytes_);
  }
  bool send(const std::string& bytes) {
    if (!websocket_) return raw_.send(bytes);
    // Messages end anywhere.
    const auto half = bytes.size() / 2;
    return socket_.send(bytes.substr(0, half)) && socket_.send(bytes.substr(half));
  }
  /// Opens the pair of streams of a connection: `data` and the one before it.
  bool connect(std::uint32_t data, int port, const std::string& request) {
    const std::string number = std::to_string(port);
    return send(client_.open(data - 2, {{"streamtype", "error"}, {"port", number}, {"requestid", request}})) &&
           send(SpdyClient::data(data - 2, "", true)) &&
           send(client_.open(data, {{"streamtype", "data"}, {"port", number}, {"requestid", request}}));
  }
  /// Reads until the streams have ended.
  bool hear(const std::set<std::uint32_t>& streams) {
    while (!std::includes(ended.begin(), ended.end(), streams.begin(), streams.end())) {
      const auto frame = SpdyClient::cut(bytes_);
      if (!frame) {
        if (!more()) return false;
        continue;
      }
      if (frame->control && frame->type == 3) ended.insert(frame->stream);
      if (frame->control) continue;
      heard[frame->stream] += frame->payload;
      if (frame->flags == 1) ended.insert(frame->stream);
    }
    return true;
  }
  SpdyClient& client() { return client_; }
  std::string told() const {
    std::string text;
    for (const auto& [stream, said] : heard)
      text += std::to_string(stream) + ": " + said + (ended.contains(stream) ? ".\n" : "\n");
    return text;
  }

  std::map<std::uint32_t, std::string> heard;
  std::set<std::uint32_t> ended;

 private:
  bool more() {
    if (!websocket_) return raw_.receive(bytes_);
    const auto frame = socket_.next();
    if (!frame || frame->opcode == 8) return false;
    if (frame->opcode == 2) bytes_ += frame->payload;
    return true;
  }
  RawClient& raw_;
  WebSocketClient socket_;
  const bool websocket_;
  SpdyClient client_;
  std::string bytes_;
};

class Forward : public ::testing::TestWithParam<bool> {
 protected:
  static void SetUpTestSuite() {
    slot() = std::make_unique<StreamLab>();
    lab().on_port([](int port) { echo() = std::make_unique<EchoPort>(port); });
    lab().add_pod("p", "exec sleep 1000", {{"ports", Json::array({{{"containerPort", 8080}}})}});
    lab().on_port({});
    lab().add_pod("closed", "exec sleep 1000", {{"ports", Json::array({{{"containerPort", 8080}}})}});
    lab().add_pod("foreign", "", Json::object(), Json::object(), "nginx:1");
  }
  static void TearDownTestSuite() {
    slot().reset();
    echo().reset();
  }
  static std::unique_ptr<StreamLab>& slot() {
    static std::unique_ptr<StreamLab> the_lab;
    return the_lab;
  }
  static std::unique_ptr<EchoPort>& echo() {
    static std::unique_ptr<EchoPort> the_echo;
    return the_echo;
  }
  static StreamLab& lab() { return *slot(); }
  static std::string target(const std::string& pod) { return "/api/v1/namespaces/default/pods/" + pod + "/portforward"; }
};

TEST_P(Forward, CarriesAConnection) {
  const auto raw = lab().client();
  Tunnel tunnel(*raw, GetParam());
  ASSERT_EQ(tunnel.open(target("p")), 101);
  ASSERT_TRUE(tunnel.connect(3, 8080, "0"));
  ASSERT_TRUE(tunnel.send(SpdyClient::data(3, "hello ") + SpdyClient::data(3, "world")));
  ASSERT_TRUE(tunnel.send(SpdyClient::data(3, "", true)));
  ASSERT_TRUE(tunnel.hear({1, 3}));
  EXPECT_EQ(tunnel.heard[3], "HELLO WORLD");
  EXPECT_EQ(tunnel.heard[1], "");
}

TEST_P(Forward, CarriesSeveralAtOnceAndMuch) {
  const auto raw = lab().client();
  Tunnel tunnel(*raw, GetParam());
  ASSERT_EQ(tunnel.open(target("p")), 101);
  for (std::uint32_t i = 0; i < 5; ++i) ASSERT_TRUE(tunnel.connect(4 * i + 3, 8080, std::to_string(i)));
  const std::string piece(10'000, 'a');
  for (int round = 0; round < 5; ++round) {
    for (std::uint32_t i = 0; i < 5; ++i) ASSERT_TRUE(tunnel.send(SpdyClient::data(4 * i + 3, piece)));
  }
  for (std::uint32_t i = 0; i < 5; ++i) ASSERT_TRUE(tunnel.send(SpdyClient::data(4 * i + 3, "end", true)));
  ASSERT_TRUE(tunnel.hear({3, 7, 11, 15, 19}));
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_TRUE(tunnel.heard[4 * i + 3] == std::string(50'000, 'A') + "END") << i;
}

TEST_P(Forward, SaysWhyAConnectionFails) {
  const auto raw = lab().client();
  Tunnel tunnel(*raw, GetParam());
  ASSERT_EQ(tunnel.open(target("closed")), 101);
  ASSERT_TRUE(tunnel.connect(3, 8080, "0"));          // nobody listens where the pod's port is
  ASSERT_TRUE(tunnel.connect(7, lab().port(), "1"));  // this machine's, but not the pod's
  ASSERT_TRUE(tunnel.hear({1, 3, 5, 7})) << tunnel.told();
  EXPECT_NE(tunnel.heard[1].find("error forwarding port 8080 to pod closed, uid "), std::string::npos) << tunnel.heard[1];
  EXPECT_NE(tunnel.heard[1].find("Connection refused"), std::string::npos) << tunnel.heard[1];
  EXPECT_NE(tunnel.heard[5].find("the pod does not listen on it"), std::string::npos) << tunnel.heard[5];
}

TEST_P(Forward, RefusesStreamsThatMakeNoSense) {
  const auto raw = lab().client();
  Tunnel tunnel(*raw, GetParam());
  ASSERT_EQ(tunnel.open(target("p")), 101);
  ASSERT_TRUE(tunnel.send(joined({tunnel.client().open(1, {{"streamtype", "data"}, {"port", "0"}}),
                                  tunnel.client().open(3, {{"streamtype", "data"}, {"port", "70000"}}),
                                  tunnel.client().open(5, {{"streamtype", "other"}, {"port", "80"}})})));
  ASSERT_TRUE(tunnel.hear({1, 3, 5}));
  // Clients of old name no request; and the connection goes on.
  ASSERT_TRUE(tunnel.connect(9, 8080, ""));
  ASSERT_TRUE(tunnel.send(SpdyClient::data(9, "still", true)));
  ASSERT_TRUE(tunnel.hear({9}));
  EXPECT_EQ(tunnel.heard[9], "STILL");
}

TEST_P(Forward, EndsWithAGoodbye) {
  const auto raw = lab().client();
  Tunnel tunnel(*raw, GetParam());
  ASSERT_EQ(tunnel.open(target("p")), 101);
  ASSERT_TRUE(tunnel.connect(3, 8080, "0"));
  ASSERT_TRUE(tunnel.send(SpdyClient::reset(3) + SpdyClient::go_away()));
  EXPECT_TRUE(raw->closed_within(10s));
}

TEST_P(Forward, RefusesPodsWithoutAProcess) {
  const auto raw = lab().client();
  Tunnel tunnel(*raw, GetParam());
  EXPECT_EQ(tunnel.open(target("foreign")), 500);
}

TEST_P(Forward, CarriesOneConnectionAPortOverChannels) {
  if (!GetParam()) return;  // channels are a WebSocket's
  const auto raw = lab().client();
  WebSocketClient client(*raw);
  ASSERT_EQ(client.open(target("p") + "?ports=8080,9", "v4.channel.k8s.io"), 101) << client.rest();
  std::map<int, std::string> heard;
  while (heard[0].size() < 2 + 5 || heard[3].size() < 3) {
    const auto frame = client.next();
    ASSERT_TRUE(frame && frame->opcode == 2 && !frame->payload.empty());
    const int channel = static_cast<unsigned char>(frame->payload[0]);
    if (channel == 0 && heard[0].empty()) {
      ASSERT_TRUE(client.say(0, "hello"));
    }
    heard[channel] += frame->payload.substr(1);
  }
  EXPECT_EQ(heard[0], std::string("\x90\x1f", 2) + "HELLO");
  EXPECT_EQ(heard[1], std::string("\x90\x1f", 2));
  EXPECT_EQ(heard[2], std::string("\x09\x00", 2));
  EXPECT_NE(heard[3].find("error forwarding port 9 to pod p"), std::string::npos) << heard[3];
  const auto other = lab().client();
  WebSocketClient wrong(*other);
  EXPECT_EQ(wrong.open(target("p") + "?ports=8080,x", "v4.channel.k8s.io"), 400);
}

INSTANTIATE_TEST_SUITE_P(Wires, Forward, ::testing::Values(false, true),
                         [](const auto& which) { return which.param ? "WebSocket" : "Plain"; });

}  // namespace
}  // namespace fleetadm::sandbox
