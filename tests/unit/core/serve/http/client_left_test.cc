// Clients that leave: who answers them is told, as long as there is no head of an answer.
#include <atomic>
#include <curl/curl.h>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "core/serve/http/body_pipe.h"
#include "core/serve/http/server.h"

namespace fleetadm::serve {
namespace {

using namespace std::chrono_literals;

template <class Holds>
bool holds_soon(const Holds& holds) {
  for (int i = 0; i < 2000 && !holds(); ++i) std::this_thread::sleep_for(10ms);
  return holds();
}

/// The parameter: HTTP/2.
class ClientLeft : public testing::TestWithParam<bool> {
 protected:
  ClientLeft() {
    const auto ca = *pki::make_ca("clients", 1h);
    ca_ = ca.certificate;
    pki::LeafOptions leaf;
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    ListenOptions options;
    options.certificate = *pki::issue(ca, leaf);
    listener_ = std::move(*HttpListener::start_direct(runtime_, options, [this](HttpRequest request, Reply reply) {
      left_ = request.left;
      if (request.path == "/quick") reply(answer_text(200, "quick"));
      if (request.path == "/stream") {
        HttpResponse answer;
        auto pipe = make_body_pipe(1024, [this] { dropped_ = true; });
        pipe.writer->push("head");
        writer_ = std::move(pipe.writer);
        answer.stream = std::move(pipe.reader);
        reply(std::move(answer));
      }
      replies_.push_back(std::move(reply));
      ++asked_;
    }));
  }
  ~ClientLeft() override {
    listener_.reset();
    runtime_.stop();
  }
  /// Leaves once `enough` is true.
  CURLcode ask(const std::string& path, std::function<bool()> enough) {
    CURL* curl = curl_easy_init();
    const std::string url = "https://" + listener_->endpoint() + path;
    curl_blob trusted{.data = ca_.data(), .len = ca_.size(), .flags = CURL_BLOB_COPY};
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);
    curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &trusted);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 20L);
    const long version = GetParam() ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1;
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, version);
    const curl_write_callback hear = [](char*, std::size_t size, std::size_t count, void* heard) {
      *static_cast<std::size_t*>(heard) += size * count;
      return size * count;
    };
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, hear);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &heard_);
    const curl_xferinfo_callback look = [](void* test, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
      return (*static_cast<std::function<bool()>*>(test))() ? 1 : 0;
    };
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &enough);
    const CURLcode code = curl_easy_perform(curl);
    curl_easy_cleanup(curl);
    return code;
  }
  bool told() {
    bool out = false;
    runtime_.on_io_thread([&] { out = left_.stop_requested(); });
    return out;
  }

  std::string ca_;
  HttpRuntime runtime_{0};
  std::atomic<int> asked_{0};
  std::atomic<bool> dropped_{false};
  std::size_t heard_ = 0;
  std::stop_token left_;        // I/O thread only, as what follows
  std::vector<Reply> replies_;  //
  std::shared_ptr<BodyWriter> writer_;
  std::unique_ptr<HttpListener> listener_;
};

TEST_P(ClientLeft, IsSaidBeforeThereIsAnAnswer) {
  EXPECT_EQ(ask("/slow", [this] { return asked_ > 0; }), CURLE_ABORTED_BY_CALLBACK);
  EXPECT_TRUE(holds_soon([this] { return told(); }));
  // Whoever answers nevertheless does no harm.
  runtime_.on_io_thread([this] { replies_.back()(answer_text(200, "late")); });
  EXPECT_EQ(ask("/quick", [] { return false; }), CURLE_OK);
  EXPECT_EQ(heard_, 5U);
}

TEST_P(ClientLeft, IsNotSaidOfThoseWhoWereAnswered) {
  EXPECT_EQ(ask("/quick", [] { return false; }), CURLE_OK);
  EXPECT_TRUE(holds_soon([this] { return listener_->connections() == 0; }));
  EXPECT_FALSE(told());
}

TEST_P(ClientLeft, BehindTheHeadIsTheEndOfTheStream) {
  EXPECT_EQ(ask("/stream", [this] { return heard_ > 0; }), CURLE_ABORTED_BY_CALLBACK);
  EXPECT_TRUE(holds_soon([this] { return listener_->connections() == 0; }));
  EXPECT_TRUE(dropped_);
  EXPECT_FALSE(told());
}

INSTANTIATE_TEST_SUITE_P(Protocols, ClientLeft, testing::Bool(),
                         [](const auto& param) { return param.param ? "Http2" : "Http1"; });

}  // namespace
}  // namespace fleetadm::serve
