// Bodies and streams through the gateway: pieces, upgrades, limits, the end of a gateway, and what is written down of it all.
#include <gtest/gtest.h>
#include <thread>

#include "kubeclient/base/json.h"
#include "tests/support/raw_client.h"
#include "tests/unit/core/proxy/gateway/gateway_lab.h"

namespace fleetadm::proxy {
namespace {

using GatewayStreams = GatewayLab;

/// A body that the test writes.
struct Fed {
  serve::BodyPipe pipe = serve::make_body_pipe(64 * 1024);
  serve::HttpResponse answer() const {
    serve::HttpResponse out;
    out.headers = {
        {"content-type", "application/json"}, {"transfer-encoding", "chunked"}, {"set-cookie", "a=b"}, {"x-mine", "1"}};
    out.stream = pipe.reader;
    return out;
  }
};

/// An answer with the text, which has to outlive it, as a stream that is there at once.
auto all_of(const std::string& text) {
  return [&text](const auto&) -> Result<serve::HttpResponse> {
    const Fed fed;
    fed.pipe.writer->push(text);
    fed.pipe.writer->finish();
    return fed.answer();
  };
}

/// The other protocol of an upgrade: says back what it hears.
class EchoUpgrade final : public serve::UpgradedStream {
 public:
  More read(std::string& into, std::size_t most) override {
    into.append(held_, 0, most);
    held_.erase(0, most);
    return ended_ && held_.empty() ? More::kEnd : More::kLater;
  }
  void on_ready(std::function<void()> wake) override { wake_ = std::move(wake); }
  void begin(const serve::WatchDescriptor& /*watch*/) override {}
  bool take(std::string_view bytes) override {
    if (bytes == "bye") ended_ = true;
    held_.append("<").append(bytes).append(">");
    if (wake_) wake_();
    return true;
  }
  bool takes() const override { return true; }

 private:
  std::string held_;
  bool ended_ = false;
  std::function<void()> wake_;
};

TEST_F(GatewayStreams, BodiesGoBothWaysOverBothProtocols) {
  start();
  const std::string much(3U * 1024U * 1024U, 'x');
  hop_->answer_with([](const serve::HttpRequest& request) -> Result<serve::HttpResponse> {
    serve::HttpResponse out;
    out.status = 201;
    out.headers = {{"set-cookie", "a=b"}, {"via", "x"}, {"fleetadm-switched", "x"}, {"keep-alive", "5"}, {"audit-id", "1"}};
    out.body = request.body;
    return out;
  });
  for (const bool http2 : {false, true}) {
    const auto answer = ask_as_jane({.method = "POST", .body = much, .http2 = http2});
    EXPECT_EQ(answer.status, 201);
    EXPECT_EQ(answer.body, much);
    for (const char* name : {"set-cookie", "via", "fleetadm-switched", "keep-alive"})
      EXPECT_EQ(answer.head.find(name), std::string::npos) << name;
    EXPECT_NE(answer.head.find("audit-id"), std::string::npos);
  }
  const auto records = audited(2);
  for (const auto& record : records) {
    EXPECT_EQ(record.received, much.size());
    EXPECT_EQ(record.sent, much.size());
    EXPECT_EQ(record.code, 201);
  }
}

TEST_F(GatewayStreams, AnswersWithoutABodyStayThat) {
  start();
  Fed fed;
  fed.pipe.writer->push("not for HEAD");
  hop_->answer_with([&](const auto&) -> Result<serve::HttpResponse> { return fed.answer(); });
  const auto head = ask_as_jane({.method = "HEAD"});
  EXPECT_EQ(head.status, 200);
  EXPECT_TRUE(head.body.empty());
  EXPECT_NE(head.head.find("x-mine"), std::string::npos);
}

TEST_F(GatewayStreams, RedirectsAreHandedOn) {
  start();
  hop_->answer_with([](const auto&) -> Result<serve::HttpResponse> {
    serve::HttpResponse out;
    out.status = 302;
    out.headers = {{"location", "https://elsewhere/x"}};
    return out;
  });
  const auto answer = ask_as_jane({});
  EXPECT_EQ(answer.status, 302);
  EXPECT_NE(answer.head.find("https://elsewhere/x"), std::string::npos);
  EXPECT_EQ(hop_->requests().size(), 1U);
}

TEST_F(GatewayStreams, AnUpgradeIsSplicedAndWrittenDownWhenItEnds) {
  start();
  hop_->answer_with([](const serve::HttpRequest& request) -> Result<serve::HttpResponse> {
    EXPECT_EQ(request.header("upgrade"), "SPDY/3.1");
    EXPECT_EQ(request.header("x-stream-protocol-version"), "v4.channel.k8s.io");
    serve::HttpResponse out;
    out.status = 101;
    out.headers = {{"connection", "Upgrade"}, {"upgrade", "SPDY/3.1"}, {"x-stream-protocol-version", "v4.channel.k8s.io"}};
    out.upgrade = std::make_shared<EchoUpgrade>();
    out.stream = out.upgrade;
    return out;
  });
  testkit::RawClient client(listener_->port(), serving_ca_.certificate, jane_);
  ASSERT_TRUE(client.connected());
  std::string head;
  std::string rest;
  const int status =
      testkit::send_upgrade(client,
                            "POST /clusters/c1/proxy/api/v1/namespaces/n/pods/p/exec?command=secret HTTP/1.1\r\nHost: x\r\n"
                            "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n"
                            "X-Stream-Protocol-Version: v4.channel.k8s.io\r\n",
                            head, rest);
  ASSERT_EQ(status, 101) << head;
  EXPECT_NE(head.find("SPDY/3.1"), std::string::npos);
  ASSERT_TRUE(client.send("hello"));
  while (rest.size() < 7 && client.receive(rest)) {
  }
  EXPECT_EQ(rest, "<hello>");
  EXPECT_EQ(front_->running(), 1U);
  ASSERT_TRUE(client.send("bye"));
  EXPECT_TRUE(client.closed_within(std::chrono::seconds(5)));
  const auto records = audited(1);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].code, 101);
  EXPECT_EQ(records[0].verb, "create");
  EXPECT_EQ(records[0].received, 8U);
  EXPECT_EQ(records[0].sent, 12U);
  EXPECT_EQ(front_->running(), 0U);
}

TEST_F(GatewayStreams, AProtocolThatIsSwitchedUnaskedIsAFailure) {
  start();
  hop_->answer_with([](const auto&) -> Result<serve::HttpResponse> {
    serve::HttpResponse out;
    out.status = 101;
    out.upgrade = std::make_shared<EchoUpgrade>();
    return out;
  });
  EXPECT_EQ(ask_as_jane({}).status, 502);
}

TEST_F(GatewayStreams, OtherProtocolsThanThoseOfApiServersAreNotSwitchedTo) {
  start();
  for (const char* protocol : {"Upgrade: h2c", "Upgrade: TLS/1.0", "Upgrade: websocket, h2c"}) {
    EXPECT_EQ(
        ask_as_jane({.headers = {"Connection: Upgrade, HTTP2-Settings", protocol, "HTTP2-Settings: AAMAAABkAAQAAP__"}}).status,
        200);
    const auto sent = hop_->last();
    for (const char* name : {"upgrade", "connection", "http2-settings"}) EXPECT_EQ(sent.header(name), "") << protocol;
  }
}

TEST_F(GatewayStreams, ACallerIsSentOnlySoManyBytesASecond) {
  constexpr std::size_t kRate = 200'000;
  options_.limits.caller_bytes = static_cast<double>(kRate);
  start();
  const std::string text(2 * kRate, 'x');
  hop_->answer_with(all_of(text));
  const auto began = std::chrono::steady_clock::now();
  const auto answer = ask_as_jane({});
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_EQ(answer.body.size(), text.size());
  EXPECT_GT(took, std::chrono::milliseconds(900)) << "a second's worth comes at once, and the rest in its time";
}

TEST_F(GatewayStreams, AllCallersOfAClusterTogetherAreSentOnlySoManyBytesASecond) {
  constexpr std::size_t kRate = 200'000;
  options_.limits.cluster_bytes = static_cast<double>(kRate);
  start();
  const std::string text(kRate, 'x');
  hop_->answer_with(all_of(text));
  const auto joe = certificate_of({"joe", {}, {}});
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(ask_as_jane({}).body.size(), text.size());
  EXPECT_EQ(ask({.certificate = &joe}).body.size(), text.size());
  EXPECT_GT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(900)) << "joe waits for what jane was sent";
}

TEST_F(GatewayStreams, BodiesOfRequestsCountToo) {
  constexpr std::size_t kRate = 200'000;
  options_.limits.cluster_bytes = static_cast<double>(kRate);
  start();
  const std::string text(2 * kRate, 'x');
  for (const bool http2 : {false, true}) {
    const auto began = std::chrono::steady_clock::now();
    const auto answer = ask_as_jane({.method = "POST", .body = text, .http2 = http2});
    const auto took = std::chrono::steady_clock::now() - began;
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(hop_->last().body, text);
    EXPECT_GT(took, std::chrono::milliseconds(900)) << "a second's worth goes on at once, and the rest in its time";
    EXPECT_LT(took, std::chrono::seconds(10)) << "it is not asked again when there is room";
  }
}

TEST_F(GatewayStreams, WhatACallerSendsIsTakenOffWhatTheyAreSent) {
  constexpr std::size_t kRate = 200'000;
  options_.limits.caller_bytes = static_cast<double>(kRate);
  start();
  const std::string text(kRate, 'x');
  hop_->answer_with(all_of(text));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(ask_as_jane({.method = "PUT", .body = text}).body.size(), text.size());
  EXPECT_GT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(800));
}

TEST_F(GatewayStreams, AWatchLastsUntilItsClientLeavesAndTakesAPlaceSoLong) {
  options_.limits = {.per_caller = 1, .per_cluster = 10, .rate = 0, .burst = 0};
  start();
  const auto fed = std::make_shared<Fed>();
  hop_->answer_with([fed](const auto&) -> Result<serve::HttpResponse> { return fed->answer(); });
  testkit::RawClient client(listener_->port(), serving_ca_.certificate, jane_);
  ASSERT_TRUE(client.send("GET /clusters/c1/proxy/api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n"));
  std::string heard;
  fed->pipe.writer->push("{\"type\":\"ADDED\"}\n");
  while (heard.find("ADDED") == std::string::npos && client.receive(heard)) {
  }
  EXPECT_NE(heard.find("ADDED"), std::string::npos);
  const auto refused = ask_as_jane({});
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.head.find("retry-after"), std::string::npos);
  const auto joe = certificate_of({"joe", {}, {}});
  hop_->answer_with({});
  EXPECT_EQ(ask({.certificate = &joe}).status, 200) << "another caller has a place of their own";
  client.close();
  audited(3);
  EXPECT_EQ(ask_as_jane({}).status, 200);
}

TEST_F(GatewayStreams, AClusterHasOnlySoManyPlaces) {
  options_.limits = {.per_caller = 10, .per_cluster = 1, .rate = 0, .burst = 0};
  start();
  const auto fed = std::make_shared<Fed>();
  hop_->answer_with([fed](const auto&) -> Result<serve::HttpResponse> { return fed->answer(); });
  testkit::RawClient client(listener_->port(), serving_ca_.certificate, jane_);
  ASSERT_TRUE(client.send("GET /clusters/c1/proxy/api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n"));
  std::string heard;
  ASSERT_TRUE(client.receive(heard));
  EXPECT_EQ(ask_as_jane({}).status, 429);
  EXPECT_EQ(ask_as_jane({.target = "/clusters/c2/proxy/version"}).status, 503) << "the other cluster is not full";
}

TEST_F(GatewayStreams, ADrainingGatewaySendsRequestsElsewhereAndLetsStreamsGoOn) {
  start();
  const auto fed = std::make_shared<Fed>();
  hop_->answer_with([fed](const auto&) -> Result<serve::HttpResponse> { return fed->answer(); });
  testkit::RawClient client(listener_->port(), serving_ca_.certificate, jane_);
  ASSERT_TRUE(client.send("GET /clusters/c1/proxy/api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n"));
  std::string heard;
  ASSERT_TRUE(client.receive(heard));
  front_->drain();
  const auto refused = ask_as_jane({});
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.head.find("retry-after"), std::string::npos);
  EXPECT_EQ(front_->running(), 1U);
  fed->pipe.writer->push("last");
  fed->pipe.writer->finish();
  while (heard.find("0\r\n\r\n") == std::string::npos && client.receive(heard)) {
  }
  EXPECT_NE(heard.find("last"), std::string::npos);
}

TEST_F(GatewayStreams, AuditLinesSayWhoAsWhomAndWhatAndHoldNoSecret) {
  const std::string token = "hub-token-secret";
  tokens_[token] = {{"user", {{"username", "system:serviceaccount:n:a"}, {"groups", {"system:serviceaccounts"}}}}};
  start();
  ask({.target = "/clusters/c1/proxy/api/v1/namespaces/n/pods/p/exec?command=query-secret",
       .method = "POST",
       .headers = {"fleetadm-member-token: member-secret", "Cookie: cookie-secret"},
       .token = token,
       .body = "body-secret"});
  ask({.token = token});
  ask({.token = "bad-secret"});
  const auto records = audited(3);
  ASSERT_EQ(records.size(), 3U);
  for (const auto& record : records) EXPECT_EQ(audit_line(record).find("secret"), std::string::npos) << audit_line(record);
  EXPECT_TRUE(records[0].token);
  EXPECT_EQ(records[0].as, "");
  EXPECT_EQ(records[0].path, "/api/v1/namespaces/n/pods/p/exec");
  EXPECT_EQ(records[0].received, 11U);
  EXPECT_EQ(records[1].user, "system:serviceaccount:n:a");
  EXPECT_EQ(records[1].as, "cluster:hub:system:serviceaccount:n:a");
  EXPECT_EQ(records[1].source, "127.0.0.1");
  EXPECT_EQ(records[1].cluster, "c1");
  EXPECT_EQ(records[1].verb, "list");
  EXPECT_EQ(records[1].code, 200);
  EXPECT_EQ(records[1].id, hop_->last().header("audit-id"));
  EXPECT_EQ(records[2].user, "");
  EXPECT_EQ(records[2].code, 401);
  const auto line = parse_json(audit_line(records[1]));
  ASSERT_TRUE(line);
  EXPECT_EQ(num(*line, {"code"}), 200);
  EXPECT_EQ(str(*line, {"as"}), "cluster:hub:system:serviceaccount:n:a");
}

}  // namespace
}  // namespace fleetadm::proxy
