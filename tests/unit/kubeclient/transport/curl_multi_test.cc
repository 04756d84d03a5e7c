// When connections over which nothing comes are broken.
#include "kubeclient/transport/curl_multi.h"

#include <future>
#include <gtest/gtest.h>
#include <utility>

#include "core/serve/http/server.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

/// One byte, and then nothing more.
class SilentBody final : public serve::BodyStream {
 public:
  More read(std::string& into, std::size_t) override {
    if (!std::exchange(said_, true)) into += 'x';
    return More::kLater;
  }
  void on_ready(std::function<void()>) override {}

 private:
  bool said_ = false;
};

/// A stream on an HTTP/2 connection that is open and silent.
class CurlMultiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto ca = pki::make_ca("silent", std::chrono::hours(1));
    ASSERT_TRUE(ca);
    pki::LeafOptions leaf;
    leaf.subject.common_name = "server";
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    const auto certificate = pki::issue(*ca, leaf);
    ASSERT_TRUE(certificate);
    serve::ListenOptions options;
    options.certificate = *certificate;
    auto listener = serve::HttpListener::start(runtime_, options, [](const serve::HttpRequest&) {
      serve::HttpResponse response;
      response.stream = std::make_shared<SilentBody>();
      return response;
    });
    ASSERT_TRUE(listener);
    listener_ = std::move(*listener);
    on_loop([&] {
      curl_easy_setopt(easy_.get(), CURLOPT_URL, ("https://127.0.0.1:" + std::to_string(listener_->port())).c_str());
      curl_easy_setopt(easy_.get(), CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
      curl_easy_setopt(easy_.get(), CURLOPT_PROXY, "");
      curl_easy_setopt(easy_.get(), CURLOPT_CAPATH, nullptr);
      curl_easy_setopt(easy_.get(), CURLOPT_CAINFO, nullptr);
      curl_blob trusted{const_cast<char*>(ca->certificate.data()), ca->certificate.size(), CURL_BLOB_COPY};
      curl_easy_setopt(easy_.get(), CURLOPT_CAINFO_BLOB, &trusted);
      curl_easy_setopt(easy_.get(), CURLOPT_WRITEFUNCTION, &CurlMultiTest::take);
      curl_easy_setopt(easy_.get(), CURLOPT_WRITEDATA, this);
      multi_->add(easy_.get(), [this](CURLcode code) { ended_.set_value(code); });
    });
    ASSERT_EQ(said_.get_future().wait_for(seconds(10)), std::future_status::ready);
  }
  void TearDown() override {
    on_loop([this] { multi_->remove(easy_.get()); });
  }

  static std::size_t take(char*, std::size_t size, std::size_t count, void* self) {
    auto& test = *static_cast<CurlMultiTest*>(self);
    test.multi_->delivered();
    if (!std::exchange(test.heard_, true)) test.said_.set_value();
    return size * count;
  }
  void on_loop(const std::function<void()>& work) {
    std::promise<void> done;
    loop_->post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  /// At so many seconds from the first one.
  void unanswered_at(int second) {
    on_loop([&] { multi_->unanswered(begin_ + seconds(second)); });
  }
  bool ends(Clock::duration patience) { return end_.wait_for(patience) == std::future_status::ready; }

  serve::HttpRuntime runtime_{2};
  std::unique_ptr<serve::HttpListener> listener_;
  std::shared_ptr<EpollLoop> loop_ = std::make_shared<EpollLoop>();
  std::shared_ptr<CurlMulti> multi_ = CurlMulti::make(loop_);
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy_{curl_easy_init(), &curl_easy_cleanup};
  bool heard_ = false;
  std::promise<void> said_;
  std::promise<CURLcode> ended_;
  std::future<CURLcode> end_ = ended_.get_future();
  Clock::time_point begin_ = Clock::now();
};

TEST_F(CurlMultiTest, ConnectionsAreBrokenOnceRequestsGoUnansweredForAWhile) {
  unanswered_at(0);
  unanswered_at(19);
  EXPECT_FALSE(ends(milliseconds(200))) << "two requests may be slow";
  unanswered_at(20);
  ASSERT_TRUE(ends(seconds(5)));
  EXPECT_NE(end_.get(), CURLE_OK);
}

TEST_F(CurlMultiTest, WhateverComesInBetweenKeepsThem) {
  unanswered_at(0);
  on_loop([this] { multi_->delivered(); });
  unanswered_at(21);
  EXPECT_FALSE(ends(milliseconds(200)));
  unanswered_at(41);
  EXPECT_TRUE(ends(seconds(5)));
}

TEST_F(CurlMultiTest, WithHttp1TheRequestsOwnConnectionIsGoneAnyway) {
  on_loop([this] { multi_->learned_version(CURL_HTTP_VERSION_1_1); });
  unanswered_at(0);
  unanswered_at(60);
  EXPECT_FALSE(ends(milliseconds(200)));
}

}  // namespace
}  // namespace fleetadm::kube
