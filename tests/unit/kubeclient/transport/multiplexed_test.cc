// Streams that share one HTTP/2 connection: whatever the server has sent reaches each of them, although nothing follows it.
#include <chrono>
#include <condition_variable>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/serve/http/server.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/transport/transport.h"

namespace fleetadm::kube {
namespace {

using std::chrono::seconds;

constexpr std::size_t kStreams = 6;

/// A body that says what it is given and then stays open.
class OpenBody final : public serve::BodyStream {
 public:
  void give(std::size_t bytes) {
    std::function<void()> wake;
    {
      const std::scoped_lock lock(mutex_);
      left_ += bytes;
      wake = wake_;
    }
    if (wake) wake();
  }
  More read(std::string& into, std::size_t most) override {
    const std::scoped_lock lock(mutex_);
    const std::size_t count = std::min(most, left_);
    into.append(count, 'x');
    left_ -= count;
    return left_ > 0 ? More::kYes : More::kLater;
  }
  void on_ready(std::function<void()> wake) override {
    const std::scoped_lock lock(mutex_);
    wake_ = std::move(wake);
  }

 private:
  std::mutex mutex_;
  std::size_t left_ = 0;
  std::function<void()> wake_;
};

/// A body of unknown length that ends, as API servers send lists.
class EndingBody final : public serve::BodyStream {
 public:
  explicit EndingBody(std::size_t bytes) : left_(bytes) {}
  More read(std::string& into, std::size_t most) override {
    const std::size_t count = std::min(most, left_);
    into.append(count, 'x');
    left_ -= count;
    return left_ > 0 ? More::kYes : More::kEnd;
  }
  void on_ready(std::function<void()>) override {}

 private:
  std::size_t left_;
};

class Count final : public StreamSink {
 public:
  void on_response(int, const std::map<std::string, std::string>&) override { add(0, true); }
  void on_data(std::string_view chunk) override { add(chunk.size(), false); }
  void on_end(std::optional<Error>) override {}

  bool answered() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(10), [&] { return answered_; });
  }
  /// How much has come, once that is `bytes` or the time is over.
  std::size_t wait_for(std::size_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, seconds(5), [&] { return bytes_ >= bytes; });
    return bytes_;
  }

 private:
  void add(std::size_t bytes, bool head) {
    const std::scoped_lock lock(mutex_);
    bytes_ += bytes;
    answered_ = answered_ || head;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t bytes_ = 0;
  bool answered_ = false;
};

class MultiplexedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto ca = pki::make_ca("multiplexed", std::chrono::hours(1));
    ASSERT_TRUE(ca);
    pki::LeafOptions leaf;
    leaf.subject.common_name = "server";
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    const auto certificate = pki::issue(*ca, leaf);
    ASSERT_TRUE(certificate);
    for (std::size_t i = 0; i < kStreams; ++i) bodies_.push_back(std::make_shared<OpenBody>());
    serve::ListenOptions options;
    options.certificate = *certificate;
    auto listener = serve::HttpListener::start(runtime_, options, [this](const serve::HttpRequest& request) {
      serve::HttpResponse response;
      const std::size_t number = std::stoul(request.path.substr(1));
      if (number < kStreams) {
        response.stream = bodies_.at(number);
      } else {
        response.stream = std::make_shared<EndingBody>(number);
      }
      return response;
    });
    ASSERT_TRUE(listener);
    listener_ = std::move(*listener);

    RestConfig config;
    config.server = "https://127.0.0.1:" + std::to_string(listener_->port());
    config.ca_data = ca->certificate;
    transport_ = make_transport(config);
    for (std::size_t i = 0; i < kStreams; ++i) {
      counts_.push_back(std::make_shared<Count>());
      handles_.push_back(transport_->stream(request_of(i), counts_.back()));
    }
    for (const auto& count : counts_) ASSERT_TRUE(count->answered());
  }
  void TearDown() override {
    for (const auto& handle : handles_) handle->cancel();
  }
  /// Below kStreams: an open stream; else a body of so many bytes.
  static Request request_of(std::size_t number) {
    Request request;
    request.path = "/" + std::to_string(number);
    return request;
  }

  std::vector<std::shared_ptr<OpenBody>> bodies_;
  serve::HttpRuntime runtime_{2};
  std::unique_ptr<serve::HttpListener> listener_;
  std::shared_ptr<Transport> transport_;
  std::vector<std::shared_ptr<Count>> counts_;
  std::vector<std::unique_ptr<StreamHandle>> handles_;
};

// libcurl 7.88 leaves what follows a full buffer in its connection until that socket has something to read again.
TEST_F(MultiplexedTest, WhatIsSentAtOnceArrivesAtOnce) {
  std::size_t sent = 0;
  for (int round = 0; round < 40; ++round) {
    const std::size_t bytes = 20'000 + static_cast<std::size_t>(round) * 1'111;
    sent += bytes;
    for (const auto& body : bodies_) body->give(bytes);
    for (const auto& count : counts_) ASSERT_EQ(count->wait_for(sent), sent) << "round " << round;
  }
}

TEST_F(MultiplexedTest, AnAnswerBesideOpenStreamsIsComplete) {
  for (std::size_t round = 0; round < 300; ++round) {
    const std::size_t bytes = 1'000 + round * 333;
    Request request = request_of(bytes);
    request.timeout = seconds(5);
    const Result<Response> answer = transport_->call(request);
    ASSERT_TRUE(answer) << bytes << ": " << answer.error().message;
    ASSERT_EQ(answer->body.size(), bytes);
  }
}

}  // namespace
}  // namespace fleetadm::kube
