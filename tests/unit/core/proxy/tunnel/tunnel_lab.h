// A gateway and agents in the test's process, over real TLS on loopback, and answers as a proxy's front would read them.
#pragma once

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/proxy/tunnel/registry.h"
#include "core/proxy/tunnel/tunnel_client.h"
#include "core/proxy/tunnel/tunnel_server.h"
#include "core/serve/http/body_pipe.h"
#include "core/serve/http/server.h"
#include "core/serve/http/upgrade.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::proxy {

/// Until it holds, 20 s at most.
template <class Holds>
bool comes_true(const Holds& holds, std::chrono::milliseconds patience = std::chrono::seconds(20)) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// An answer to a request that went into a tunnel. It is read as it comes, unless it is held.
class TunnelAnswer : public std::enable_shared_from_this<TunnelAnswer> {
  template <class Get>
  auto with(const Get& get) {
    const std::lock_guard lock(mutex_);
    return get();
  }

 public:
  using More = serve::BodyStream::More;

  TunnelAnswer(serve::HttpRuntime& runtime, bool held) : runtime_(runtime), held_(held) {}

  Hop::Done receiver() {
    return [self = shared_from_this()](Result<serve::HttpResponse> response) { self->receive(std::move(response)); };
  }
  bool has_head() {
    return comes_true([this] { return with([this] { return head_ || error_; }); });
  }
  bool has_ended() {
    return comes_true([this] { return with([this] { return error_ || end_ != More::kLater; }); });
  }
  bool has(std::size_t bytes) {
    return comes_true([&] { return with([&] { return body_.size() >= bytes; }); });
  }
  /// Reads on.
  void read() {
    boost::asio::post(runtime_.executor(), [self = shared_from_this()] {
      self->held_ = false;
      self->pull();
    });
  }
  void drop() {
    runtime_.on_io_thread([this] { response_ = {}; });
  }
  /// After an upgrade: what the client sends, as far as it is taken.
  bool say(const std::string& text) {
    bool taken = false;
    runtime_.on_io_thread([&] { taken = response_.upgrade && response_.upgrade->takes() && response_.upgrade->take(text); });
    return taken;
  }

  std::optional<Error> error() {
    return with([this] { return error_; });
  }
  int status() {
    return with([this] { return response_.status; });
  }
  serve::Headers headers() {
    return with([this] { return response_.headers; });
  }
  std::string body() {
    return with([this] { return body_; });
  }
  bool whole() {
    return with([this] { return end_ == More::kEnd; });
  }
  bool upgraded() {
    return with([this] { return response_.upgrade != nullptr; });
  }
  std::chrono::steady_clock::time_point came() {
    return with([this] { return came_; });
  }

 private:
  void receive(Result<serve::HttpResponse> response) {
    {
      const std::lock_guard lock(mutex_);
      EXPECT_FALSE(head_ || error_) << "a second answer";
      came_ = std::chrono::steady_clock::now();
      if (!response) {
        error_ = response.error();
        return;
      }
      response_ = std::move(*response);
      head_ = true;
      if (!response_.stream) {
        body_ = response_.body;
        end_ = More::kEnd;
        return;
      }
    }
    response_.stream->on_ready([weak = weak_from_this(), executor = runtime_.executor()] {
      boost::asio::post(executor, [weak] {
        if (const auto here = weak.lock()) here->pull();
      });
    });
    if (response_.upgrade) response_.upgrade->begin([](int) { return nullptr; });
    pull();
  }
  void pull() {
    if (held_ || !response_.stream) return;
    while (true) {
      std::string piece;
      const auto more = response_.stream->read(piece, 64 * 1024);
      const std::lock_guard lock(mutex_);
      body_ += piece;
      if (more == More::kYes) continue;
      end_ = more;
      return;
    }
  }

  serve::HttpRuntime& runtime_;
  bool held_;  // I/O thread only, as response_ once it has a head
  std::mutex mutex_;
  serve::HttpResponse response_;
  std::string body_;
  std::optional<Error> error_;
  bool head_ = false;
  More end_ = More::kLater;
  std::chrono::steady_clock::time_point came_;
};

/// Certificates of a hub's CA and of a gateway's.
class TunnelPki {
 public:
  TunnelPki() : hub_(*pki::make_ca("hub", std::chrono::hours(1))), gateway_(*pki::make_ca("gateway", std::chrono::hours(1))) {}

  const std::string& hub_ca() const { return hub_.certificate; }
  const std::string& gateway_ca() const { return gateway_.certificate; }
  pki::KeyPair gateway() const {
    pki::LeafOptions leaf;
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.dns_names = {"gateway.invalid"};
    leaf.server = true;
    return *pki::issue(gateway_, leaf);
  }
  static pki::LeafOptions leaf_of(const std::string& cluster, const std::string& agent = "a1") {
    const std::string group = "system:open-cluster-management:" + cluster;
    pki::LeafOptions leaf;
    leaf.subject.common_name = group + ":" + agent;
    leaf.subject.organizations = {group, "system:open-cluster-management:managed-clusters"};
    leaf.client = true;
    return leaf;
  }
  pki::KeyPair issue(const pki::LeafOptions& leaf) const { return *pki::issue(hub_, leaf); }
  pki::KeyPair agent(const std::string& cluster) const { return issue(leaf_of(cluster)); }

 private:
  pki::KeyPair hub_;
  pki::KeyPair gateway_;
};

class TunnelTest : public testing::Test {
 protected:
  using Answer = std::shared_ptr<TunnelAnswer>;

  void start_gateway(int port = 0) {
    server_options_.address = "127.0.0.1";
    server_options_.port = port;
    server_options_.certificate = pki_.gateway();
    server_options_.client_ca = pki_.hub_ca();
    auto started = TunnelServer::start(gateway_runtime_, server_options_, registry_);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }
  /// An agent whose certificate, handler and gateway are given; those of "c1" and the test otherwise.
  std::unique_ptr<TunnelClients> agent(pki::KeyPair certificate, std::optional<serve::HttpHandler> handler = {}, int port = 0) {
    TunnelClientOptions options = client_options_;
    options.certificate = [certificate = std::move(certificate)]() -> Result<pki::KeyPair> { return certificate; };
    options.handle =
        handler ? std::move(*handler)
                : serve::HttpHandler([this](auto request, auto reply) { serve_one(std::move(request), std::move(reply)); });
    auto clients = std::make_unique<TunnelClients>(agent_runtime_, std::move(options));
    EXPECT_TRUE(clients->set_gateways({"127.0.0.1:" + std::to_string(port > 0 ? port : server_->port())}, pki_.gateway_ca()));
    EXPECT_TRUE(comes_true([&] { return clients->states().size() == 1; }));
    return clients;
  }
  bool connected(const std::string& cluster = "c1") {
    return comes_true([&] { return registry_->has(cluster); });
  }
  static serve::HttpRequest get(const std::string& path) {
    serve::HttpRequest request;
    request.method = "GET";
    request.path = path;
    return request;
  }
  Answer send(serve::HttpRequest request, bool held = false, const std::string& cluster = "c1") {
    auto answer = std::make_shared<TunnelAnswer>(gateway_runtime_, held);
    auto kept = std::make_shared<serve::HttpRequest>(std::move(request));
    gateway_runtime_.on_io_thread([&] {
      const auto hop = registry_->find(cluster);
      if (hop) return hop->send(std::move(*kept), answer->receiver());
      answer->receiver()(fail(Category::kUnavailable, "no tunnel"));
    });
    return answer;
  }
  /// What the member answers; on the agent's I/O thread.
  virtual void serve_one(serve::HttpRequest request, serve::Reply reply) {
    reply(serve::answer_text(200, request.method + " " + request.path + (request.query.empty() ? "" : "?" + request.query)));
  }

  TunnelPki pki_;
  std::shared_ptr<TunnelRegistry> registry_ = std::make_shared<TunnelRegistry>();
  TunnelServerOptions server_options_;
  TunnelClientOptions client_options_;
  serve::HttpRuntime gateway_runtime_{0};
  serve::HttpRuntime agent_runtime_{0};
  std::unique_ptr<TunnelServer> server_;
};

}  // namespace fleetadm::proxy
