// A hop to a server of the test's own process, and what it answers, read on its I/O thread as a proxy would.
#pragma once

#include <boost/asio/post.hpp>
#include <condition_variable>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/proxy/hop/http1_hop.h"
#include "core/serve/http/server.h"
#include "core/serve/http/upgrade.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::proxy {

/// One answer. All of it is read, unless it is held.
class HopAnswer : public std::enable_shared_from_this<HopAnswer> {
 public:
  using More = serve::BodyStream::More;

  HopAnswer(boost::asio::any_io_executor executor, bool held) : executor_(std::move(executor)), held_(held) {}

  Hop::Done receiver() {
    return [self = shared_from_this()](Result<serve::HttpResponse> response) { self->receive(std::move(response)); };
  }
  bool has_head() {
    return within([this] { return head_; });
  }
  bool has_ended() {
    return within([this] { return error_ || end_ != More::kLater; });
  }
  bool has_body(std::string_view text) {
    return within([&] { return body_.find(text) != std::string::npos; });
  }
  /// Reads on, or what there is once.
  void read() {
    boost::asio::post(executor_, [self = shared_from_this()] {
      self->held_ = false;
      self->pull();
    });
  }
  void drop() {
    boost::asio::post(executor_, [self = shared_from_this()] { self->response_ = {}; });
  }
  /// After an upgrade.
  void say(std::string text) {
    boost::asio::post(executor_, [self = shared_from_this(), text = std::move(text)] { self->response_.upgrade->take(text); });
  }

  // Once it has a head, or has ended:
  const std::optional<Error>& error() const { return error_; }
  int status() const { return response_.status; }
  const serve::HttpResponse& response() const { return response_; }
  std::string header(std::string_view name) const {
    for (const auto& [key, value] : response_.headers) {
      if (key == name) return value;
    }
    return {};
  }
  std::string body() {
    const std::lock_guard lock(mutex_);
    return body_;
  }
  bool whole() const { return end_ == More::kEnd; }

 private:
  bool within(const std::function<bool()>& holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), holds);
  }
  void receive(Result<serve::HttpResponse> response) {
    {
      const std::lock_guard lock(mutex_);
      EXPECT_FALSE(head_ || error_) << "a second answer";
      if (!response) {
        error_ = response.error();
      } else {
        response_ = std::move(*response);
        head_ = true;
        if (!response_.stream) {
          body_ = response_.body;
          end_ = More::kEnd;
        }
      }
      changed_.notify_all();
    }
    if (!response_.stream) return;
    response_.stream->on_ready([weak = weak_from_this(), executor = executor_] {
      boost::asio::post(executor, [weak] {
        if (const auto self = weak.lock()) self->pull();
      });
    });
    pull();
  }
  void pull() {
    while (!held_ && response_.stream) {
      std::string piece;
      const auto more = response_.stream->read(piece, 64 * 1024);
      const std::lock_guard lock(mutex_);
      body_ += piece;
      if (more == More::kEnd || more == More::kCut) end_ = more;
      changed_.notify_all();
      if (more != More::kYes) return;
    }
  }

  boost::asio::any_io_executor executor_;
  bool held_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Error> error_;
  serve::HttpResponse response_;
  bool head_ = false;
  std::string body_;
  More end_ = More::kLater;
};

class HopLab : public testing::Test {
 protected:
  HopLab() { ca_ = *pki::make_ca("members", std::chrono::hours(1)); }
  ~HopLab() override {
    on_io_thread([this] {
      if (hop_) hop_->close();
      hop_.reset();
    });
    io_.stop();
  }

  pki::KeyPair server_certificate() const {
    pki::LeafOptions leaf;
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    return *pki::issue(ca_, leaf);
  }
  Http1HopOptions options_for(int port) const {
    Http1HopOptions options;
    options.name = "member";
    options.server = "https://127.0.0.1:" + std::to_string(port);
    options.ca = ca_.certificate;
    return options;
  }
  void use(const Http1HopOptions& options) {
    auto made = Http1Hop::make(io_.executor(), options);
    ASSERT_TRUE(made) << made.error().message;
    on_io_thread([&] { hop_ = *made; });
  }
  template <class Run>
  void on_io_thread(const Run& run) {
    std::promise<void> done;
    boost::asio::post(io_.executor(), [&] {
      run();
      done.set_value();
    });
    done.get_future().wait();
  }
  std::shared_ptr<HopAnswer> send(serve::HttpRequest request, bool held = false) {
    auto answer = std::make_shared<HopAnswer>(io_.executor(), held);
    auto kept = std::make_shared<serve::HttpRequest>(std::move(request));
    boost::asio::post(io_.executor(), [hop = hop_, kept, done = answer->receiver()] { hop->send(std::move(*kept), done); });
    return answer;
  }
  static serve::HttpRequest request(std::string method, std::string path, std::string body = {}) {
    serve::HttpRequest out;
    out.method = std::move(method);
    out.path = std::move(path);
    out.body = std::move(body);
    return out;
  }
  std::shared_ptr<HopAnswer> get(const std::string& path) { return send(request("GET", path)); }
  std::shared_ptr<HopAnswer> get_and_wait(const std::string& path) {
    auto answer = get(path);
    EXPECT_TRUE(answer->has_ended()) << path;
    return answer;
  }
  Http1Hop::Counts counts() {
    Http1Hop::Counts out;
    on_io_thread([&] { out = hop_->counts(); });
    return out;
  }
  template <class Holds>
  bool soon(const Holds& holds) {
    for (int i = 0; i < 1000; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  pki::KeyPair ca_;
  serve::HttpRuntime io_{0};
  std::shared_ptr<Http1Hop> hop_;
};

}  // namespace fleetadm::proxy
