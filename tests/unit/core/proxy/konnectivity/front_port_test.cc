// The front end as its clients find it: our own client through it, to a server that says everything back.
#include "core/proxy/konnectivity/front_port.h"

#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <gtest/gtest.h>
#include <optional>
#include <string>

#include "core/proxy/konnectivity/front_client.h"
#include "core/serve/http/server.h"
#include "tests/support/echo_port.h"

namespace fleetadm::konnectivity {
namespace {

using FrontSocket = boost::asio::ip::tcp::socket;

class FrontPortTest : public testing::Test {
 protected:
  FrontPortTest() {
    serve::ListenOptions listen;
    pki::LeafOptions leaf;
    leaf.dns_names = {"proxy-entrypoint"};
    leaf.server = true;
    listen.certificate = *pki::issue(ca_, leaf);
    listen.client_ca = ca_.certificate;
    listen.streams_body = [](const serve::HttpRequest&) { return true; };
    FrontPortOptions port;
    port.admits = [](const serve::HttpRequest& request) -> Status {
      if (request.peer->common_name == "proxy-client") return {};
      return fail(Category::kAuth, "it is " + request.peer->common_name);
    };
    port.dial = [this](const std::string& target, std::function<void(Result<FrontSocket>)> done) {
      if (target != "c1:443") {
        return boost::asio::post(runtime_.executor(),
                                 [done = std::move(done)] { done(fail(Category::kUnavailable, "No agent available")); });
      }
      const auto socket = std::make_shared<FrontSocket>(runtime_.executor());
      socket->async_connect({boost::asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(echo_.port())},
                            [this, socket, done = std::move(done)](const boost::system::error_code& error) {
                              if (error) return done(fail(Category::kUnavailable, error.message()));
                              ++connections_;
                              done(std::move(*socket));
                            });
    };
    listener_ = std::move(
        *serve::HttpListener::start_direct(runtime_, listen, [port](serve::HttpRequest request, const serve::Reply& reply) {
          handle_front_request(port, std::move(request), reply);
        }));
    options_.host = "127.0.0.1";
    options_.port = std::to_string(listener_->port());
    options_.server_name = "proxy-entrypoint";
    options_.ca = ca_.certificate;
    show("proxy-client");
  }
  ~FrontPortTest() override {
    runtime_.on_io_thread([this] { socket_.reset(); });
    listener_.reset();
    runtime_.stop();
  }
  void show(const std::string& name) {
    pki::LeafOptions client;
    client.subject.common_name = name;
    client.client = true;
    options_.certificate = *pki::issue(ca_, client);
  }
  /// Empty: connected.
  std::string dial(const std::string& target) {
    const auto outcome = std::make_shared<std::promise<std::string>>();
    runtime_.on_io_thread([&] {
      dial_through_front(runtime_.executor(), options_, target, [this, outcome](Result<FrontSocket> socket) {
        if (!socket) return outcome->set_value(socket.error().message);
        socket_ = std::move(*socket);
        outcome->set_value("");
      });
    });
    auto known = outcome->get_future();
    return known.wait_for(std::chrono::seconds(20)) == std::future_status::ready ? known.get() : "no outcome";
  }
  /// What comes back of what is sent.
  std::string exchange(const std::string& out) {
    const auto in = std::make_shared<std::string>();
    const auto buffer = std::make_shared<std::array<char, 65536>>();
    const auto done = std::make_shared<std::promise<void>>();
    const auto sent = std::make_shared<std::string>(out);
    const auto read = std::make_shared<std::function<void()>>();
    *read = [this, in, buffer, done, size = out.size(), weak = std::weak_ptr(read)] {
      const auto again = weak.lock();
      socket_->async_read_some(boost::asio::buffer(*buffer),
                               [in, buffer, done, size, again](const boost::system::error_code& error, std::size_t count) {
                                 in->append(buffer->data(), count);
                                 if (error || in->size() >= size) return done->set_value();
                                 (*again)();
                               });
    };
    runtime_.on_io_thread([&] {
      (*read)();
      boost::asio::async_write(*socket_, boost::asio::buffer(*sent), [sent](const boost::system::error_code&, std::size_t) {});
    });
    EXPECT_EQ(done->get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
    std::string heard;
    runtime_.on_io_thread([&] { heard = *in; });
    return heard;
  }

  pki::KeyPair ca_ = *pki::make_ca("proxy", std::chrono::hours(1));
  testkit::EchoPort echo_{0};
  FrontOptions options_;
  std::atomic<int> connections_{0};
  serve::HttpRuntime runtime_{0};
  std::optional<FrontSocket> socket_;
  std::unique_ptr<serve::HttpListener> listener_;
};

TEST_F(FrontPortTest, ConnectsItsClientToTheTarget) {
  ASSERT_EQ(dial("c1:443"), "");
  EXPECT_EQ(exchange("hello"), "HELLO");
  EXPECT_TRUE(exchange(std::string(3'000'000, 'x')) == std::string(3'000'000, 'X')) << "more than each side holds";
  EXPECT_EQ(connections_, 1);
}

TEST_F(FrontPortTest, SaysWhyTheTargetIsNotReached) {
  EXPECT_EQ(dial("c2:443"), "cannot reach c2:443 through konnectivity: No agent available");
}

TEST_F(FrontPortTest, DialsForNobodyElse) {
  show("an-agent");
  EXPECT_NE(dial("c1:443"), "");
  EXPECT_EQ(connections_, 0);
}

}  // namespace
}  // namespace fleetadm::konnectivity
