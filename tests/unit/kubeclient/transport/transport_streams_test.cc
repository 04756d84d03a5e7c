// Answers of the transport while they come: streams, and those that are cut, endless or given up.
#include <atomic>
#include <chrono>
#include <future>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "kubeclient/transport/answer_limit.h"
#include "tests/unit/kubeclient/transport/transport_fixture.h"

namespace fleetadm::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testkit::TlsRequest;
using testkit::TlsServer;
using testkit::TlsWrite;

TEST_F(TransportTest, DeliversStreamsAsTheyComeAndTellsCutFromComplete) {
  const TlsServer server(ours->server, [](const TlsRequest& request, const TlsWrite& write) {
    write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    write("2\r\na\n\r\n");
    std::this_thread::sleep_for(milliseconds(20));
    write("2\r\nb\n\r\n");
    if (request.target == "/cut") return false;
    return write("0\r\n\r\n");
  });
  const auto transport = make_transport(config(server));
  for (const bool cut : {false, true}) {
    const auto watcher = std::make_shared<Watcher>();
    const auto handle = transport->stream(get(cut ? "/cut" : "/whole"), watcher);
    ASSERT_TRUE(watcher->wait([&] { return watcher->ends > 0; }));
    EXPECT_EQ(watcher->status, 200);
    EXPECT_EQ(watcher->text, "a\nb\n");
    EXPECT_EQ(watcher->error.has_value(), cut);
    EXPECT_EQ(watcher->error ? watcher->error->reason : "", cut ? "ConnectionCut" : "");
  }
  EXPECT_EQ(transport->call(get("/cut")).error().category, Category::kUnavailable);
}

TEST_F(TransportTest, A401IsAnAnswerEvenWhereTheServerClosesUnderIt) {
  const TlsServer server(ours->server, [](const TlsRequest& request, const TlsWrite& write) {
    write("HTTP/1.1 " + std::string(request.target == "/who" ? "401 Unauthorized" : "404 Not Found") +
          "\r\nContent-Length: 100\r\n\r\n{\"kind\":\"Status\",");
    return false;
  });
  for (const bool with_token : {false, true}) {
    if (with_token) {
      source = std::make_shared<Source>();
      source->credentials.token = "stale";
      source->can_refresh = false;
    }
    const auto transport = make_transport(config(server));
    const auto refused = transport->call(get("/who"));
    ASSERT_TRUE(refused) << refused.error().message;
    EXPECT_EQ(refused->status, 401);
    const auto cut = transport->call(get("/what"));
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().reason, "ConnectionCut");
  }
}

TEST_F(TransportTest, WhatIsThrownWhileAnAnswerIsTakenIsAnError) {
  const TlsServer server(ours->server, &TransportTest::echo);
  class Full final : public StreamSink {
   public:
    void on_response(int, const std::map<std::string, std::string>&) override {}
    void on_data(std::string_view) override { throw std::bad_alloc(); }
    void on_end(std::optional<Error> error) override { ended.set_value(std::move(error)); }
    std::promise<std::optional<Error>> ended;
  };
  const auto transport = make_transport(config(server));
  const auto full = std::make_shared<Full>();
  const auto handle = transport->stream(get("/"), full);
  auto ended = full->ended.get_future();
  ASSERT_EQ(ended.wait_for(seconds(10)), std::future_status::ready);
  const auto error = ended.get();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->category, Category::kInternal);
  EXPECT_NE(error->message.find("bad_alloc"), std::string::npos) << error->message;
  EXPECT_TRUE(transport->call(get("/after")));
}

TEST_F(TransportTest, AnswersAndTheirHeadersAreBounded) {
  const TlsServer server(ours->server, [](const TlsRequest& request, const TlsWrite& write) {
    if (request.target == "/warnings") {
      std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n";
      for (int i = 0; i < 20'000; ++i) head += "Warning: 299 - x\r\n";
      return write(head + "\r\n");
    }
    if (request.target != "/long") return echo(request, write);
    write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "100000\r\n" + std::string(0x100000, 'x') + "\r\n";
    for (int i = 0; i < 65; ++i) {
      if (!write(chunk)) return false;
    }
    return write("0\r\n\r\n");
  });
  const auto transport = make_transport(config(server));
  EXPECT_FALSE(transport->call(get("/warnings")));
  const auto answer = transport->call(get("/long", seconds(60)));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, kAnswerTooLong) << answer.error().message;
  EXPECT_TRUE(transport->call(get("/after")));
}

TEST_F(TransportTest, ACancelledStreamIsSilent) {
  std::atomic<int> open{0};
  const TlsServer server(ours->server, [&](const TlsRequest&, const TlsWrite& write) {
    ++open;
    write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (write("1\r\nx\r\n")) std::this_thread::sleep_for(milliseconds(1));
    --open;
    return false;
  });
  const auto transport = make_transport(config(server));
  const auto watcher = std::make_shared<Watcher>();
  auto handle = transport->stream(get("/", Duration::zero()), watcher);
  ASSERT_TRUE(watcher->wait([&] { return !watcher->text.empty(); }));
  handle->cancel();
  const std::size_t length = watcher->text.size();
  for (int i = 0; i < 500 && open != 0; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(open, 0);
  EXPECT_EQ(watcher->text.size(), length);
  EXPECT_EQ(watcher->ends, 0);
}

TEST_F(TransportTest, ManyStreamsOverOneHttp1ServerLeaveRoomForCalls) {
  const TlsServer server(ours->server, [](const TlsRequest& request, const TlsWrite& write) {
    if (request.target != "/watch") return echo(request, write);
    write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
    while (write("1\r\nx\r\n")) std::this_thread::sleep_for(milliseconds(20));
    return false;
  });
  const auto transport = make_transport(config(server));
  std::vector<std::shared_ptr<Watcher>> watchers;
  std::vector<std::unique_ptr<StreamHandle>> handles;
  for (int i = 0; i < 24; ++i) {
    watchers.push_back(std::make_shared<Watcher>());
    handles.push_back(transport->stream(get("/watch", Duration::zero()), watchers.back()));
  }
  for (const auto& watcher : watchers) EXPECT_TRUE(watcher->wait([&] { return watcher->status == 200; }));
  EXPECT_TRUE(transport->call(get("/api")));
}

}  // namespace
}  // namespace fleetadm::kube
