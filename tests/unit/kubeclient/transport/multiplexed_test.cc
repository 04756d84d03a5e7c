// Streams that share one HTTP/2 connection: whatever the server has sent reaches each of them, although nothing follows it.
#include <chrono>
#include <condition_variable>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/sandbox/http/server.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/transport/transport.h"

namespace fleetadm::kube {
namespace {

using std::chrono::seconds;

constexpr std::size_t kStreams = 6;

/// A body that says what it is given and then stays open.
class OpenBody final : public sandbox::BodyStream {
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

// libcurl 7.88 leaves what follows a full buffer in its connection until that socket has something to read again.
TEST(MultiplexedTest, WhatIsSentAtOnceArrivesAtOnce) {
  const auto ca = pki::make_ca("multiplexed", std::chrono::hours(1));
  ASSERT_TRUE(ca);
  pki::LeafOptions leaf;
  leaf.subject.common_name = "server";
  leaf.ip_addresses = {"127.0.0.1"};
  leaf.server = true;
  const auto certificate = pki::issue(*ca, leaf);
  ASSERT_TRUE(certificate);

  std::vector<std::shared_ptr<OpenBody>> bodies;
  for (std::size_t i = 0; i < kStreams; ++i) bodies.push_back(std::make_shared<OpenBody>());
  sandbox::HttpRuntime runtime(2);
  sandbox::ListenOptions options;
  options.certificate = *certificate;
  const auto listener = sandbox::HttpListener::start(runtime, options, [&](const sandbox::HttpRequest& request) {
    sandbox::HttpResponse response;
    response.stream = bodies.at(std::stoul(request.path.substr(1)));
    return response;
  });
  ASSERT_TRUE(listener);

  RestConfig config;
  config.server = "https://127.0.0.1:" + std::to_string((*listener)->port());
  config.ca_data = ca->certificate;
  const auto transport = make_transport(config);
  std::vector<std::shared_ptr<Count>> counts;
  std::vector<std::unique_ptr<StreamHandle>> handles;
  for (std::size_t i = 0; i < kStreams; ++i) {
    counts.push_back(std::make_shared<Count>());
    Request request;
    request.path = "/" + std::to_string(i);
    handles.push_back(transport->stream(request, counts.back()));
  }
  for (const auto& count : counts) ASSERT_TRUE(count->answered());

  std::size_t sent = 0;
  for (int round = 0; round < 40; ++round) {
    const std::size_t bytes = 20'000 + static_cast<std::size_t>(round) * 1'111;
    sent += bytes;
    for (const auto& body : bodies) body->give(bytes);
    for (const auto& count : counts) ASSERT_EQ(count->wait_for(sent), sent) << "round " << round;
  }
  for (const auto& handle : handles) handle->cancel();
}

}  // namespace
}  // namespace fleetadm::kube
