// port-forward with kubeclient's own end, through the tunnel in a WebSocket and by SPDY/3.1 itself.
#include "kubeclient/stream/forward_stream.h"

#include <gtest/gtest.h>
#include <map>

#include "core/serve/http/server.h"
#include "core/serve/streams/forward_session.h"
#include "core/serve/streams/upgrade_request.h"
#include "core/serve/streams/websocket_handshake.h"
#include "tests/support/echo_port.h"

namespace fleetadm::kube {
namespace {

using namespace std::chrono_literals;

/// The parameter: the server knows the tunnel.
class ForwardStreamTest : public testing::TestWithParam<bool> {
 protected:
  ForwardStreamTest() {
    ca_ = *pki::make_ca("forward", std::chrono::hours(1));
    pki::LeafOptions leaf;
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    serve::ListenOptions options;
    options.certificate = *pki::issue(ca_, leaf);
    listener_ = std::move(
        *serve::HttpListener::start(runtime_, options, [this](const serve::HttpRequest& request) { return answer(request); }));
    config_.server = "https://127.0.0.1:" + std::to_string(listener_->port());
    config_.ca_data = ca_.certificate;
    request_.path = "/api/v1/namespaces/n/pods/p/portforward";
  }
  ~ForwardStreamTest() override {
    listener_.reset();
    runtime_.stop();
  }

  serve::HttpResponse answer(const serve::HttpRequest& request) {
    const bool websocket = serve::asks_upgrade_to(request, "websocket");
    if (websocket && !GetParam()) return serve::answer_text(400, "no WebSockets here");
    auto choice = serve::choose_upgrade(request, {kTunnelledForwarding}, kForwarding);
    if (choice.protocol.empty()) return choice.answer;
    auto session = std::make_shared<serve::ForwardSession>(
        serve::make_spdy_forwarding(choice.websocket),
        [this](int port) -> Result<int> {
          if (port == 80) return echo_.port();
          return fail(Category::kNotFound, "nothing listens there");
        },
        "p");
    choice.answer.upgrade = session;
    return choice.answer;
  }
  /// Reads events until each of the connections has ended; failures in brackets.
  static std::map<SpdyStreamId, std::string> hear(ForwardStream& stream, std::size_t ends) {
    std::map<SpdyStreamId, std::string> heard;
    while (ends > 0) {
      const auto event = stream.next(10s);
      if (!event || !*event) {
        ADD_FAILURE() << (event ? "nothing came" : event.error().message);
        break;
      }
      auto& text = heard[(*event)->id];
      const auto kind = (*event)->kind;
      text += kind == ForwardStream::Event::Kind::kFailed ? "[" + (*event)->bytes + "]" : (*event)->bytes;
      if (kind == ForwardStream::Event::Kind::kEnd) --ends;
    }
    return heard;
  }

  testkit::EchoPort echo_{0};
  pki::KeyPair ca_;
  serve::HttpRuntime runtime_{1};
  std::unique_ptr<serve::HttpListener> listener_;
  RestConfig config_;
  Request request_;
};

TEST_P(ForwardStreamTest, CarriesManyConnections) {
  auto stream = ForwardStream::open(config_, request_);
  ASSERT_TRUE(stream) << stream.error().message;
  std::map<SpdyStreamId, std::string> expected;
  for (int i = 0; i < 5; ++i) {
    const auto id = (*stream)->connect(80);
    ASSERT_TRUE(id) << id.error().message;
    ASSERT_TRUE((*stream)->send(*id, "hello " + std::to_string(i), 10s));
    ASSERT_TRUE((*stream)->end(*id));
    expected[*id] = "HELLO " + std::to_string(i);
  }
  EXPECT_EQ(hear(**stream, 5), expected);
}

TEST_P(ForwardStreamTest, CarriesMuchAndForgetsWhatIsOver) {
  auto stream = ForwardStream::open(config_, request_);
  ASSERT_TRUE(stream);
  const std::string much(3'000'000, 'a');
  const auto id = (*stream)->connect(80);
  ASSERT_TRUE(id);
  std::size_t sent = 0;
  std::string heard;
  while (heard.size() < much.size()) {
    if (sent < much.size()) {
      const auto taken = (*stream)->send(*id, std::string_view(much).substr(sent), 0s);
      ASSERT_TRUE(taken) << taken.error().message;
      sent += *taken;
    }
    const auto event = (*stream)->next(sent < much.size() ? 0s : 10s);
    ASSERT_TRUE(event) << event.error().message;
    if (*event) heard += (*event)->bytes;
  }
  EXPECT_EQ(heard, std::string(much.size(), 'A'));
  ASSERT_TRUE((*stream)->end(*id));
  hear(**stream, 1);
  // Far more than may be open at once, one after the other.
  for (int i = 0; i < 300; ++i) {
    const auto next = (*stream)->connect(80);
    ASSERT_TRUE(next) << i << " " << next.error().message;
    ASSERT_TRUE((*stream)->end(*next));
    hear(**stream, 1);
  }
}

TEST_P(ForwardStreamTest, TellsWhyAConnectionFailed) {
  auto stream = ForwardStream::open(config_, request_);
  ASSERT_TRUE(stream);
  const auto id = (*stream)->connect(81);
  ASSERT_TRUE(id);
  std::string why;
  while (why.empty()) {
    const auto event = (*stream)->next(10s);
    ASSERT_TRUE(event && *event);
    if ((*event)->kind == ForwardStream::Event::Kind::kFailed) why = (*event)->bytes;
  }
  EXPECT_NE(why.find("nothing listens there"), std::string::npos) << why;
  EXPECT_FALSE((*stream)->send(*id, "x", 0s));
  EXPECT_FALSE((*stream)->connect(0));
  EXPECT_FALSE((*stream)->connect(65536));
}

TEST_P(ForwardStreamTest, NoticesThatTheServerIsGone) {
  auto stream = ForwardStream::open(config_, request_);
  ASSERT_TRUE(stream);
  ASSERT_TRUE((*stream)->connect(80));
  listener_.reset();
  const auto event = (*stream)->next(10s);
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().category, Category::kUnavailable);
  EXPECT_FALSE((*stream)->connect(80));
}

INSTANTIATE_TEST_SUITE_P(Ways, ForwardStreamTest, testing::Bool(),
                         [](const auto& one) { return std::string(one.param ? "Tunnelled" : "Spdy"); });

}  // namespace
}  // namespace fleetadm::kube
