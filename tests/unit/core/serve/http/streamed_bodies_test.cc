// Bodies that are streamed, over HTTP/1.1 and HTTP/2: what is held of them, who waits for whom, and how they break off.
#include <atomic>
#include <curl/curl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

#include "core/serve/http/body_pipe.h"
#include "core/serve/http/server.h"
#include "tests/support/sanitizers.h"

namespace fleetadm::serve {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMuch = 64U * 1024U * 1024U;
constexpr std::size_t kMaxExtra = 16U * 1024U * 1024U;

/// The sanitizers keep what is freed for a while: there memory says nothing.
bool memory_tells() { return !testkit::sanitized(); }

std::size_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoul(line.substr(6)) * 1024U;
  }
  return 0;
}
/// How far the peak rose above `before`. The kernel's count of pages lags by a few a processor, so that it may also be lower.
std::size_t risen(std::size_t before) {
  const auto peak = peak_memory();
  return peak > before ? peak - before : 0;
}
void forget_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

char byte_at(std::size_t position) { return static_cast<char>('a' + position % 23); }

/// One transfer of libcurl, which says and checks a pattern without holding it.
struct Transfer {
  std::size_t to_send = 0;
  std::size_t abort_send_at = SIZE_MAX;
  std::size_t abort_read_at = SIZE_MAX;
  std::atomic<bool> may_read{true};
  std::atomic<std::size_t> sent{0};
  std::atomic<std::size_t> heard{0};
  bool same = true;
  std::string text;  // the first of what was heard
  long status = 0;
  long version = 0;
  CURLcode code = CURLE_OK;

  static std::size_t say(char* buffer, std::size_t size, std::size_t count, void* self_pointer) {
    auto& self = *static_cast<Transfer*>(self_pointer);
    if (self.sent >= self.abort_send_at) return CURL_READFUNC_ABORT;
    const auto most = std::min(size * count, self.to_send - self.sent);
    for (std::size_t i = 0; i < most; ++i) buffer[i] = byte_at(self.sent + i);
    self.sent += most;
    return most;
  }
  static std::size_t hear(char* data, std::size_t size, std::size_t count, void* self_pointer) {
    auto& self = *static_cast<Transfer*>(self_pointer);
    self.may_read.wait(false);
    if (self.heard >= self.abort_read_at) return 0;
    for (std::size_t i = 0; i < size * count; ++i) self.same = self.same && data[i] == byte_at(self.heard + i);
    if (self.text.size() < 100) self.text.append(data, std::min<std::size_t>(size * count, 100));
    self.heard += size * count;
    return size * count;
  }
};

/// The parameter: HTTP/2.
class StreamedBodies : public testing::TestWithParam<bool> {
 protected:
  StreamedBodies() { ca_ = *pki::make_ca("bodies", std::chrono::hours(1)); }
  ~StreamedBodies() override {
    listener_.reset();
    runtime_.stop();
  }
  void serve(std::function<HttpResponse(const HttpRequest&)> handler, const HttpLimits& limits = {}) {
    pki::LeafOptions leaf;
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    ListenOptions options;
    options.certificate = *pki::issue(ca_, leaf);
    options.limits = limits;
    options.streams_body = [](const HttpRequest& head) { return head.path == "/stream"; };
    listener_ = std::move(*HttpListener::start(runtime_, options, std::move(handler)));
  }
  void run(Transfer& transfer, const std::string& path = "/stream", bool length_known = false) {
    CURL* curl = curl_easy_init();
    const std::string url = "https://127.0.0.1:" + std::to_string(listener_->port()) + path;
    curl_blob trusted{.data = ca_.certificate.data(), .len = ca_.certificate.size(), .flags = CURL_BLOB_COPY};
    curl_slist* headers = curl_slist_append(nullptr, "Expect:");
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);
    curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &trusted);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 60L);
    const long version = GetParam() ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1;
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, version);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Transfer::hear);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
    if (transfer.to_send > 0) {
      curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
      curl_easy_setopt(curl, CURLOPT_READFUNCTION, &Transfer::say);
      curl_easy_setopt(curl, CURLOPT_READDATA, &transfer);
      if (length_known) curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(transfer.to_send));
    }
    transfer.code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &transfer.status);
    curl_easy_getinfo(curl, CURLINFO_HTTP_VERSION, &transfer.version);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
  }
  /// Until it has not changed for a while.
  static std::size_t settled(const std::atomic<std::size_t>& count) {
    std::size_t last = SIZE_MAX;
    for (int calm = 0; calm < 10;) {
      std::this_thread::sleep_for(50ms);
      calm = count > 0 && count == last ? calm + 1 : 0;
      last = count;
    }
    return last;
  }

  pki::KeyPair ca_;
  HttpRuntime runtime_{2};
  std::unique_ptr<HttpListener> listener_;
};

TEST_P(StreamedBodies, AreEchoedWithoutBeingHeld) {
  serve([](const HttpRequest& request) {
    HttpResponse out;
    out.stream = request.content;
    return out;
  });
  for (const bool length_known : {false, true}) {
    Transfer transfer;
    transfer.to_send = kMuch;
    forget_peak();
    const auto before = peak_memory();
    run(transfer, "/stream", length_known);
    EXPECT_EQ(transfer.code, CURLE_OK) << curl_easy_strerror(transfer.code);
    EXPECT_EQ(transfer.status, 200);
    EXPECT_EQ(transfer.version, GetParam() ? CURL_HTTP_VERSION_2_0 : CURL_HTTP_VERSION_1_1);
    EXPECT_EQ(transfer.heard, kMuch);
    EXPECT_TRUE(transfer.same);
    EXPECT_TRUE(!memory_tells() || risen(before) < kMaxExtra) << risen(before);
  }
}

TEST_P(StreamedBodies, AClientWaitsForASlowReader) {
  std::atomic<bool> may_read{false};
  serve([&](const HttpRequest& request) {
    may_read.wait(false);
    std::string piece;
    std::size_t size = 0;
    bool same = true;
    auto more = BodyStream::More::kYes;
    while ((more = request.content->wait(piece, 100'000, 10s)) == BodyStream::More::kYes) {
      for (const char c : piece) same = same && c == byte_at(size++);
      piece.clear();
    }
    return answer_text(more == BodyStream::More::kEnd && same ? 200 : 500, std::to_string(size));
  });
  Transfer transfer;
  transfer.to_send = kMuch;
  std::jthread client([&] { run(transfer); });
  EXPECT_LT(settled(transfer.sent), kMuch / 2);
  may_read = true;
  may_read.notify_all();
  client.join();
  EXPECT_EQ(transfer.status, 200);
  EXPECT_EQ(transfer.text, std::to_string(kMuch));
}

TEST_P(StreamedBodies, AWriterWaitsForASlowClient) {
  std::atomic<std::size_t> written{0};
  std::jthread writing;
  serve([&](const HttpRequest&) {
    auto pipe = make_body_pipe(1024 * 1024);
    writing = std::jthread([&written, writer = pipe.writer] {
      while (written < kMuch) {
        std::string piece;
        for (std::size_t i = 0; i < 64 * 1024; ++i) piece += byte_at(written + i);
        for (std::string_view rest = piece; !rest.empty();) {
          if (writer->write(rest, 10s) == BodyWriter::Outcome::kAbandoned) return;
        }
        written += piece.size();
      }
      writer->finish();
    });
    HttpResponse out;
    out.stream = pipe.reader;
    return out;
  });
  Transfer transfer;
  transfer.may_read = false;
  std::jthread client([&] { run(transfer); });
  EXPECT_LT(settled(written), kMuch / 2);
  transfer.may_read = true;
  transfer.may_read.notify_all();
  client.join();
  EXPECT_EQ(transfer.code, CURLE_OK);
  EXPECT_EQ(transfer.heard, kMuch);
  EXPECT_TRUE(transfer.same);
}

TEST_P(StreamedBodies, AReaderIsToldThatItsClientIsGone) {
  std::atomic<int> end{-1};
  serve([&](const HttpRequest& request) {
    std::string piece;
    auto more = BodyStream::More::kYes;
    while ((more = request.content->wait(piece, 100'000, 10s)) == BodyStream::More::kYes) piece.clear();
    end = static_cast<int>(more);
    end.notify_all();
    return answer_text(200, "");
  });
  Transfer transfer;
  transfer.to_send = kMuch;
  transfer.abort_send_at = 3'000'000;
  run(transfer);
  EXPECT_EQ(transfer.code, CURLE_ABORTED_BY_CALLBACK);
  end.wait(-1);
  EXPECT_EQ(end, static_cast<int>(BodyStream::More::kCut));
}

TEST_P(StreamedBodies, AWriterIsToldThatItsClientIsGone) {
  std::atomic<bool> abandoned{false};
  std::jthread writing;
  serve([&](const HttpRequest&) {
    auto pipe = make_body_pipe(100'000);
    writing = std::jthread([&abandoned, writer = pipe.writer] {
      const std::string piece(50'000, 'x');
      for (std::string_view rest = piece; !abandoned; rest = piece)
        abandoned = writer->write(rest, 20s) == BodyWriter::Outcome::kAbandoned;
      abandoned.notify_all();
    });
    HttpResponse out;
    out.stream = pipe.reader;
    return out;
  });
  Transfer transfer;
  transfer.abort_read_at = 1'000'000;
  run(transfer);
  EXPECT_EQ(transfer.code, CURLE_WRITE_ERROR);
  abandoned.wait(false);
  EXPECT_TRUE(abandoned);
}

TEST_P(StreamedBodies, AnAnswerMayComeBeforeTheEnd) {
  serve([](const HttpRequest&) { return answer_text(403, "not you"); });
  Transfer transfer;
  transfer.to_send = kMuch;
  run(transfer);
  EXPECT_EQ(transfer.status, 403);
  EXPECT_EQ(transfer.text, "not you");
  if (!GetParam()) {
    EXPECT_LT(transfer.sent, kMuch);  // over HTTP/2 clients may send on, and nobody holds it
  }
  Transfer next;
  next.to_send = 10;
  run(next);
  EXPECT_EQ(next.status, 403);
}

TEST_P(StreamedBodies, AreBoundedTogetherAndOthersAsBefore) {
  HttpLimits limits;
  limits.body = 1000;
  limits.window = 1'000'000;
  limits.bodies = 999'999;  // no room for one window
  // libcurl 7.88 waits for more of a stream whose early answer has no body.
  const auto answer = [](const HttpRequest& request) {
    return request.body_too_large ? answer_text(413, "too large") : answer_text(200, request.body);
  };
  serve(answer, limits);
  Transfer streamed;
  streamed.to_send = 10;
  run(streamed);
  EXPECT_EQ(streamed.status, 429);
  for (const bool length_known : {false, true}) {
    Transfer small;
    small.to_send = 1000;
    run(small, "/whole", length_known);
    EXPECT_EQ(small.status, 200);
    EXPECT_EQ(small.heard, 1000U);
    Transfer large;
    large.to_send = 1001;
    run(large, "/whole", length_known);
    EXPECT_EQ(large.code, CURLE_OK) << curl_easy_strerror(large.code);
    EXPECT_EQ(large.status, 413);
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, StreamedBodies, testing::Bool(),
                         [](const auto& one) { return std::string(one.param ? "Http2" : "Http1"); });

}  // namespace
}  // namespace fleetadm::serve
