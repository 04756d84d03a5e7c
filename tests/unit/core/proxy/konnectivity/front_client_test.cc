// The front client against a front end of the test's own: it speaks gRPC over our HTTP/2 server.
#include "core/proxy/konnectivity/front_client.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <vector>

#include "core/proxy/konnectivity/grpc_frames.h"
#include "core/proxy/konnectivity/packet.h"
#include "core/serve/http/body_pipe.h"
#include "core/serve/http/server.h"

namespace fleetadm::konnectivity {
namespace {

using boost::asio::ip::tcp;
using serve::BodyStream;

constexpr auto kPatience = std::chrono::seconds(20);
constexpr std::int64_t kConnection = 7;

/// What a front end says to a packet.
using Script = std::function<std::vector<Packet>(const Packet&)>;

std::vector<Packet> echo(const Packet& packet) {
  switch (packet.type) {
    case PacketType::kDialRequest:
      return {{.type = PacketType::kDialResponse, .random = packet.random, .connection = kConnection}};
    case PacketType::kData: return {packet};
    case PacketType::kCloseRequest: return {{.type = PacketType::kCloseResponse, .connection = packet.connection}};
    default: return {};
  }
}

class FrontEnd final : public BodyStream {
 public:
  FrontEnd(std::shared_ptr<serve::BodyReader> content, Script script)
      : content_(std::move(content)), script_(std::move(script)) {}

  More read(std::string& into, std::size_t most) override {
    std::string came;
    const More more = content_->read(came, most);
    frames_.feed(came);
    while (true) {
      const auto message = frames_.next();
      if (!message) return More::kCut;
      if (!*message) break;
      const auto packet = decode_packet(**message);
      if (!packet) return More::kCut;
      for (const Packet& answer : script_(*packet)) append_grpc_frame(into, encode_packet(answer));
    }
    return more;
  }
  void on_ready(std::function<void()> wake) override { content_->on_ready(std::move(wake)); }

 private:
  std::shared_ptr<serve::BodyReader> content_;
  Script script_;
  GrpcFrames frames_{kMostPacketBytes};
};

class FrontClient : public testing::Test {
 protected:
  void TearDown() override {
    runtime_.on_io_thread([this] { socket_.reset(); });
    listener_.reset();
    runtime_.stop();
  }
  void start(Script script, std::string type = "application/grpc") {
    serve::ListenOptions listen;
    pki::LeafOptions leaf;
    leaf.dns_names = {"proxy-entrypoint"};
    leaf.server = true;
    listen.certificate = *pki::issue(ca_, leaf);
    listen.client_ca = ca_.certificate;
    listen.streams_body = [](const serve::HttpRequest&) { return true; };
    auto started = serve::HttpListener::start_direct(
        runtime_, listen,
        [this, script = std::move(script), type = std::move(type)](serve::HttpRequest request, serve::Reply reply) {
          if (request.peer->certificate != serve::Peer::Certificate::kValid) return reply(serve::answer_text(403, "who?"));
          seen_.set_value(request.method + " " + request.path);
          serve::HttpResponse answer;
          answer.headers = {{"content-type", type}};
          answer.stream = std::make_shared<FrontEnd>(request.content, script);
          reply(std::move(answer));
        });
    ASSERT_TRUE(started) << started.error().message;
    listener_ = std::move(*started);
    options_.host = "127.0.0.1";
    options_.port = std::to_string(listener_->port());
    options_.server_name = "proxy-entrypoint";
    options_.ca = ca_.certificate;
    pki::LeafOptions client;
    client.subject.common_name = "proxy-client";
    client.client = true;
    options_.certificate = *pki::issue(ca_, client);
  }
  /// Null: connected.
  std::optional<Error> dial() {
    std::promise<std::optional<Error>> outcome;
    runtime_.on_io_thread([&] {
      dial_through_front(runtime_.executor(), options_, "c1:443", [&](Result<tcp::socket> socket) {
        if (!socket) return outcome.set_value(socket.error());
        socket_ = std::move(*socket);
        outcome.set_value(std::nullopt);
      });
    });
    auto known = outcome.get_future();
    if (known.wait_for(kPatience) != std::future_status::ready) {
      ADD_FAILURE() << "no outcome";
      std::abort();  // what would be called no longer is there
    }
    return known.get();
  }
  /// Writes all of it, and reads `size` bytes or up to the end.
  std::string exchange(const std::string& out, std::size_t size) {
    std::string in;
    std::promise<void> done;
    std::array<char, 65536> buffer{};
    std::function<void()> read = [&] {
      socket_->async_read_some(boost::asio::buffer(buffer), [&](const boost::system::error_code& error, std::size_t count) {
        in.append(buffer.data(), count);
        if (error || in.size() >= size) return done.set_value();
        read();
      });
    };
    std::size_t written = 0;
    std::function<void()> write = [&] {
      if (written == out.size()) return;
      socket_->async_write_some(boost::asio::buffer(out.data() + written, out.size() - written),
                                [&](const boost::system::error_code& error, std::size_t count) {
                                  written += count;
                                  if (!error) write();
                                });
    };
    runtime_.on_io_thread([&] {
      read();
      write();
    });
    EXPECT_EQ(done.get_future().wait_for(kPatience), std::future_status::ready);
    return in;
  }

  pki::KeyPair ca_ = *pki::make_ca("proxy", std::chrono::hours(1));
  FrontOptions options_;
  std::promise<std::string> seen_;
  std::optional<tcp::socket> socket_;
  serve::HttpRuntime runtime_{0};
  std::unique_ptr<serve::HttpListener> listener_;
};

TEST_F(FrontClient, CarriesBytesBothWays) {
  ASSERT_NO_FATAL_FAILURE(start(echo));
  const auto error = dial();
  ASSERT_FALSE(error) << error->message;
  EXPECT_EQ(seen_.get_future().get(), "POST /ProxyService/Proxy");
  EXPECT_EQ(exchange("hello", 5), "hello");
  std::string much;
  for (int i = 0; much.size() < 5'000'000; ++i) much += std::to_string(i);
  EXPECT_TRUE(exchange(much, much.size()) == much);
}

TEST_F(FrontClient, GivesWhatCameBeforeTheEnd) {
  ASSERT_NO_FATAL_FAILURE(start([](const Packet& packet) {
    auto answers = echo(packet);
    if (packet.type == PacketType::kData) answers.push_back({.type = PacketType::kCloseResponse, .connection = kConnection});
    return answers;
  }));
  ASSERT_FALSE(dial());
  EXPECT_EQ(exchange("last words", 1000), "last words");
}

TEST_F(FrontClient, TellsTheFrontEndWhenItsUserCloses) {
  std::promise<std::int64_t> closed;
  ASSERT_NO_FATAL_FAILURE(start([&](const Packet& packet) {
    if (packet.type == PacketType::kCloseRequest) closed.set_value(packet.connection);
    return echo(packet);
  }));
  ASSERT_FALSE(dial());
  runtime_.on_io_thread([this] { socket_.reset(); });
  auto known = closed.get_future();
  ASSERT_EQ(known.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(known.get(), kConnection);
}

TEST_F(FrontClient, SaysWhyTheTargetIsNotReached) {
  ASSERT_NO_FATAL_FAILURE(start([](const Packet& packet) -> std::vector<Packet> {
    return {{.type = PacketType::kDialResponse, .random = packet.random, .error = "No agent available"}};
  }));
  const auto error = dial();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->category, Category::kUnavailable);
  EXPECT_EQ(error->message, "cannot reach c1:443 through konnectivity: No agent available");
}

TEST_F(FrontClient, EndsWhereTheProtocolIsBroken) {
  ASSERT_NO_FATAL_FAILURE(start([](const Packet&) -> std::vector<Packet> {
    return {{.type = PacketType::kData, .connection = kConnection, .data = "early"}};
  }));
  const auto error = dial();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->category, Category::kInvalid);
  EXPECT_EQ(error->message, "the konnectivity peer sent DATA before the answer to the dial");
}

TEST_F(FrontClient, VerifiesTheFrontEnd) {
  ASSERT_NO_FATAL_FAILURE(start(echo));
  options_.server_name = "elsewhere";
  auto error = dial();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->category, Category::kTls) << error->message;
  options_.server_name = "proxy-entrypoint";
  options_.ca = pki::make_ca("another", std::chrono::hours(1))->certificate;
  error = dial();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->category, Category::kTls) << error->message;
}

TEST_F(FrontClient, KnowsWhatIsNoKonnectivityServer) {
  ASSERT_NO_FATAL_FAILURE(start(echo, "text/html"));
  const auto error = dial();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->category, Category::kInvalid) << error->message;
}

TEST_F(FrontClient, GivesUpATargetThatDoesNotAnswer) {
  ASSERT_NO_FATAL_FAILURE(start([](const Packet&) { return std::vector<Packet>{}; }));
  options_.target = std::chrono::milliseconds(300);
  const auto error = dial();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->category, Category::kTimeout) << error->message;
}

}  // namespace
}  // namespace fleetadm::konnectivity
