// Requests through a tunnel, over real TLS on loopback.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <stop_token>

#include "tests/unit/core/proxy/tunnel/tunnel_lab.h"

namespace fleetadm::proxy {
namespace {

using namespace std::chrono_literals;

/// So many bytes, as the reader takes them.
class TunnelEndless final : public serve::BodyStream {
 public:
  TunnelEndless(std::size_t size, std::atomic<std::size_t>& given, std::atomic<int>& alive)
      : left_(size), given_(given), alive_(alive) {
    ++alive_;
  }
  ~TunnelEndless() override { --alive_; }
  TunnelEndless(const TunnelEndless&) = delete;
  TunnelEndless& operator=(const TunnelEndless&) = delete;

  More read(std::string& into, std::size_t most) override {
    if (left_ == 0) return More::kEnd;
    const auto size = std::min(most, left_);
    into.append(size, 'e');
    left_ -= size;
    given_ += size;
    return More::kYes;
  }
  void on_ready(std::function<void()> /*wake*/) override {}

 private:
  std::size_t left_;
  std::atomic<std::size_t>& given_;
  std::atomic<int>& alive_;
};

/// The agent's end of an upgrade: says what it hears, with a mark before each piece.
class TunnelEcho final : public serve::BodyStream {
 public:
  explicit TunnelEcho(std::shared_ptr<serve::BodyReader> from) : from_(std::move(from)) {}
  More read(std::string& into, std::size_t most) override { return from_->read(into, most); }
  void on_ready(std::function<void()> wake) override { from_->on_ready(std::move(wake)); }

 private:
  std::shared_ptr<serve::BodyReader> from_;
};

class TunnelStreams : public TunnelTest {
 protected:
  void serve_one(serve::HttpRequest request, serve::Reply reply) override {
    {
      const std::lock_guard lock(mutex_);
      seen_ = request.headers;
    }
    if (request.path == "/hang") {
      const std::lock_guard lock(mutex_);
      hanging_.push_back(request.left);
      kept_.push_back(std::move(reply));
      return;
    }
    if (request.path == "/endless") {
      serve::HttpResponse response;
      response.stream = std::make_shared<TunnelEndless>(std::size_t{64} * 1024 * 1024, given_, alive_);
      return reply(std::move(response));
    }
    if (request.path == "/echo" || request.path == "/exec") {
      serve::HttpResponse response;
      if (request.path == "/exec") {
        if (request.header("fleetadm-upgrade").empty() || !request.content) return reply(serve::answer_text(400, "no upgrade"));
        response.headers = {{"fleetadm-switched", "SPDY/3.1"}, {"x-stream-protocol-version", "v4.channel.k8s.io"}};
      }
      response.stream = std::make_shared<TunnelEcho>(request.content);
      return reply(std::move(response));
    }
    if (request.path == "/keep") {
      content_ = request.content;
      kept_.push_back(std::move(reply));
      return;
    }
    TunnelTest::serve_one(std::move(request), std::move(reply));
  }
  std::string seen(std::string_view name) {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, value] : seen_) {
      if (key == name) return value;
    }
    return {};
  }
  static serve::HttpRequest exec() {
    auto request = get("/exec");
    request.method = "POST";
    request.headers = {{"connection", "Upgrade"}, {"upgrade", "SPDY/3.1"}, {"x-stream-protocol-version", "v4.channel.k8s.io"}};
    return request;
  }

  std::mutex mutex_;
  serve::Headers seen_;
  std::size_t left() {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count_if(hanging_, [](const auto& one) { return one.stop_requested(); }));
  }
  std::size_t hanging() {
    const std::lock_guard lock(mutex_);
    return hanging_.size();
  }

  std::vector<std::stop_token> hanging_;
  std::vector<serve::Reply> kept_;              // agent's I/O thread only
  std::shared_ptr<serve::BodyReader> content_;  // the same
  std::atomic<std::size_t> given_{0};
  std::atomic<int> alive_{0};
};

TEST_F(TunnelStreams, AGetIsAnswered) {
  start_gateway();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  auto request = get("/api/v1/namespaces/a%2Fb");
  request.query = "limit=5&continue=x%3A";
  request.headers = {
      {"accept", "application/json"}, {"connection", "keep-alive, x-hop"}, {"x-hop", "1"}, {"fleetadm-user", "jane"}};
  const auto answer = send(std::move(request));
  ASSERT_TRUE(answer->has_ended());
  ASSERT_FALSE(answer->error()) << answer->error()->message;
  EXPECT_EQ(answer->status(), 200);
  EXPECT_EQ(answer->body(), "GET /api/v1/namespaces/a%2Fb?limit=5&continue=x%3A");
  EXPECT_EQ(seen("accept"), "application/json");
  EXPECT_EQ(seen("fleetadm-user"), "jane");
  EXPECT_EQ(seen("x-hop"), "") << "the connection's own";
  const auto list = registry_->list();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].cluster, "c1");
  EXPECT_EQ(list[0].agent, "a1");
  EXPECT_TRUE(comes_true([&] { return clients->states()[0].connected; }));
}

TEST_F(TunnelStreams, ABodyGoesAsItIs) {
  start_gateway();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  auto request = get("/echo");
  request.method = "POST";
  request.body = std::string(3'000'000, 'b');
  const auto answer = send(std::move(request));
  ASSERT_TRUE(answer->has_ended());
  EXPECT_TRUE(answer->whole());
  EXPECT_EQ(answer->body().size(), 3'000'000U);
  EXPECT_EQ(seen("content-length"), "3000000");
}

TEST_F(TunnelStreams, BodiesStreamBothWaysAtTheSameTime) {
  start_gateway();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  auto pipe = serve::make_body_pipe(64 * 1024);
  auto request = get("/echo");
  request.method = "POST";
  request.content = std::move(pipe.reader);
  const auto answer = send(std::move(request));
  for (std::size_t i = 1; i <= 3; ++i) {
    pipe.writer->push("piece " + std::to_string(i));
    ASSERT_TRUE(answer->has(i * 7)) << i;
  }
  EXPECT_EQ(answer->body(), "piece 1piece 2piece 3");
  pipe.writer->finish();
  ASSERT_TRUE(answer->has_ended());
  EXPECT_TRUE(answer->whole());
}

TEST_F(TunnelStreams, AReaderThatStopsHoldsABoundedPartAndNobodyElse) {
  start_gateway();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  const auto stalled = send(get("/endless"), true);
  ASSERT_TRUE(stalled->has_head());
  std::size_t before = 0;
  ASSERT_TRUE(comes_true([&] { return before == given_ || (before = given_, std::this_thread::sleep_for(100ms), false); }));
  EXPECT_LE(given_, server_options_.limits.window + 256 * 1024) << "no more than the window and what is on its way";
  for (int i = 0; i < 100; ++i) {
    const auto other = send(get("/x" + std::to_string(i)));
    ASSERT_TRUE(other->has_ended());
    EXPECT_EQ(other->status(), 200);
  }
  const auto full = send(get("/endless"));
  ASSERT_TRUE(full->has_ended());
  EXPECT_TRUE(full->whole());
  EXPECT_EQ(full->body().size(), std::size_t{64} * 1024 * 1024);
  stalled->read();
  ASSERT_TRUE(stalled->has_ended());
  EXPECT_EQ(stalled->body().size(), std::size_t{64} * 1024 * 1024);
}

TEST_F(TunnelStreams, AMemberThatDoesNotReadHoldsTheClientBack) {
  start_gateway();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  const std::size_t window = 64 * 1024;
  auto pipe = serve::make_body_pipe(window);
  auto request = get("/keep");
  request.method = "POST";
  request.content = std::move(pipe.reader);
  const auto answer = send(std::move(request));
  const std::string piece(16 * 1024, 'p');
  std::size_t pushed = 0;
  while (comes_true([&] { return pipe.writer->has_room(); }, 300ms) && pushed < 64 * 1024 * 1024) {
    pipe.writer->push(piece);
    pushed += piece.size();
  }
  EXPECT_LE(pushed, client_options_.limits.window + 3 * window);
  EXPECT_GE(pushed, client_options_.limits.window);
  agent_runtime_.on_io_thread([this] { content_.reset(); });
}

TEST_F(TunnelStreams, AnUpgradeIsBytesBothWays) {
  start_gateway();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  const auto answer = send(exec());
  ASSERT_TRUE(answer->has_head());
  ASSERT_FALSE(answer->error()) << answer->error()->message;
  EXPECT_EQ(answer->status(), 101);
  EXPECT_TRUE(answer->upgraded());
  const auto headers = answer->headers();
  const auto has = [&](const char* name, const char* value) {
    return std::ranges::find(headers, std::pair<std::string, std::string>(name, value)) != headers.end();
  };
  EXPECT_TRUE(has("connection", "Upgrade"));
  EXPECT_TRUE(has("upgrade", "SPDY/3.1"));
  EXPECT_TRUE(has("x-stream-protocol-version", "v4.channel.k8s.io"));
  EXPECT_TRUE(std::ranges::none_of(headers, [](const auto& each) { return each.first.starts_with("fleetadm-"); }));
  EXPECT_EQ(seen("fleetadm-upgrade"), "SPDY/3.1");
  std::string all;
  for (int i = 0; i < 50; ++i) {
    const std::string text(static_cast<std::size_t>(i) * 997, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(comes_true([&] { return answer->say(text); }));
    all += text;
    ASSERT_TRUE(answer->has(all.size())) << i;
  }
  EXPECT_EQ(answer->body(), all);
  answer->drop();
  EXPECT_TRUE(comes_true([&] { return registry_->list().at(0).streams == 0; }));
}

TEST_F(TunnelStreams, AnUpgradedReaderThatStopsHoldsItsOwnClientBack) {
  start_gateway();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  const auto answer = send(exec(), true);
  ASSERT_TRUE(answer->has_head());
  const std::string piece(32 * 1024, 'p');
  std::size_t said = 0;
  while (said < 64 * 1024 * 1024 && comes_true([&] { return answer->say(piece); }, 300ms)) said += piece.size();
  EXPECT_LE(said, 5 * server_options_.limits.window) << "what it says waits at each of the ends, and no more";
  const auto other = send(get("/x"));
  ASSERT_TRUE(other->has_ended());
  EXPECT_EQ(other->status(), 200);
  answer->read();
  EXPECT_TRUE(answer->has(said));
}

TEST_F(TunnelStreams, AnUpgradeThatIsRefusedIsTheMembersAnswer) {
  start_gateway();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  auto request = exec();
  request.path = "/no";
  const auto answer = send(std::move(request));
  ASSERT_TRUE(answer->has_ended());
  EXPECT_EQ(answer->status(), 200);
  EXPECT_FALSE(answer->upgraded());
  EXPECT_EQ(answer->body(), "POST /no");
  EXPECT_TRUE(comes_true([&] { return registry_->list().at(0).streams == 0; }));
}

TEST_F(TunnelStreams, AnAnswerThatSwitchesUnaskedIsNoUpgrade) {
  start_gateway();
  const auto clients = agent(pki_.agent("c1"), [](const serve::HttpRequest&, const serve::Reply& reply) {
    auto response = serve::answer_text(200, "hello");
    response.headers.emplace_back("fleetadm-switched", "websocket");
    reply(std::move(response));
  });
  ASSERT_TRUE(connected());
  const auto answer = send(get("/x"));
  ASSERT_TRUE(answer->has_ended());
  EXPECT_EQ(answer->status(), 200);
  EXPECT_FALSE(answer->upgraded());
  for (const auto& [name, value] : answer->headers()) EXPECT_FALSE(name.starts_with("fleetadm-")) << name;
}

TEST_F(TunnelStreams, FiveHundredAtTheSameTime) {
  start_gateway();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  std::vector<Answer> answers;
  for (int i = 0; i < 500; ++i) answers.push_back(send(get("/hang")));
  ASSERT_TRUE(comes_true([&] { return registry_->list().at(0).streams == 500; }));
  ASSERT_TRUE(comes_true([&] {
    std::size_t there = 0;
    agent_runtime_.on_io_thread([&] { there = kept_.size(); });
    return there == 500;
  }));
  agent_runtime_.on_io_thread([&] {
    for (std::size_t i = 0; i < kept_.size(); ++i) kept_[i](serve::answer_text(200, "late"));
  });
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer->has_ended());
    EXPECT_EQ(answer->body(), "late");
  }
}

TEST_F(TunnelStreams, MoreThanTheAgentTakesWaitForTheirTurnAndTooManyAreRefused) {
  client_options_.limits.streams = 2;
  server_options_.limits.waiting = 3;
  start_gateway();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  // The agent's settings come with the first answer at the latest.
  ASSERT_TRUE(send(get("/first"))->has_ended());
  std::vector<Answer> answers;
  for (int i = 0; i < 5; ++i) answers.push_back(send(get("/hang")));
  EXPECT_EQ(registry_->list().at(0).streams, 2U);
  EXPECT_EQ(registry_->list().at(0).waiting, 3U);
  const auto refused = send(get("/hang"));
  ASSERT_TRUE(refused->error());
  EXPECT_EQ(refused->error()->code, 429);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(comes_true([&] {
      bool replied = false;
      agent_runtime_.on_io_thread([&] {
        replied = !kept_.empty();
        for (const auto& reply : std::exchange(kept_, {})) reply(serve::answer_text(200, "late"));
      });
      return replied || answers.back()->error() || answers.back()->status() != 200 || answers.back()->whole();
    }));
    if (answers.back()->whole()) break;
  }
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer->has_ended());
    EXPECT_EQ(answer->body(), "late");
  }
}

TEST_F(TunnelStreams, AnAnswerThatIsDroppedEndsTheStreamAtTheAgent) {
  start_gateway();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  const auto answer = send(get("/endless"), true);
  ASSERT_TRUE(answer->has_head());
  EXPECT_EQ(alive_, 1);
  answer->drop();
  EXPECT_TRUE(comes_true([this] { return alive_ == 0; }));
  EXPECT_TRUE(comes_true([&] { return registry_->list().at(0).streams == 0; }));
}

TEST_F(TunnelStreams, AClientThatLeavesEndsItsStreamAndItsTurn) {
  client_options_.limits.streams = 2;
  start_gateway();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  ASSERT_TRUE(send(get("/first"))->has_ended());
  std::array<std::stop_source, 4> asking;
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < asking.size(); ++i) {
    auto request = get("/hang");
    request.left = asking[i].get_token();
    answers.push_back(send(std::move(request)));
    if (i >= 2) continue;
    ASSERT_TRUE(comes_true([&] { return hanging() == i + 1; }));
  }
  ASSERT_EQ(registry_->list()[0].waiting, 2U);
  const auto leave = [&](std::size_t which) {
    gateway_runtime_.on_io_thread([&] { asking[which].request_stop(); });
    ASSERT_TRUE(answers[which]->has_ended());
    ASSERT_TRUE(answers[which]->error());
    EXPECT_EQ(answers[which]->error()->category, Category::kCancelled);
  };
  leave(2);  // had to wait
  EXPECT_EQ(registry_->list()[0].waiting, 1U);
  EXPECT_EQ(left(), 0U);
  leave(0);  // was with the agent
  EXPECT_TRUE(comes_true([&] { return left() == 1; }));
  EXPECT_TRUE(comes_true([&] { return hanging() == 3; })) << "the next one's turn";
  leave(3);
  EXPECT_TRUE(comes_true([&] { return left() == 2; }));
  EXPECT_EQ(registry_->list()[0].waiting, 0U);
  auto late = get("/hang");
  late.left = asking[0].get_token();
  EXPECT_EQ(send(std::move(late))->error()->category, Category::kCancelled);
  EXPECT_TRUE(comes_true([&] { return registry_->list()[0].streams == 1; }));
  EXPECT_EQ(hanging(), 3U) << "nothing was asked for it";
  EXPECT_FALSE(answers[1]->error());
}

TEST_F(TunnelStreams, AnAnswerThatBreaksOffIsCut) {
  start_gateway();
  auto pipe = std::make_shared<serve::BodyPipe>(serve::make_body_pipe(64 * 1024));
  const auto clients = agent(pki_.agent("c1"), [pipe](const serve::HttpRequest&, const serve::Reply& reply) {
    serve::HttpResponse response;
    response.stream = pipe->reader;
    reply(std::move(response));
  });
  ASSERT_TRUE(connected());
  const auto answer = send(get("/x"));
  ASSERT_TRUE(answer->has_head());
  pipe->writer->push("so far");
  ASSERT_TRUE(answer->has(6));
  pipe->writer->cut();
  ASSERT_TRUE(answer->has_ended());
  EXPECT_FALSE(answer->whole());
  EXPECT_EQ(answer->body(), "so far");
}

TEST_F(TunnelStreams, AClientThatIsGoneEndsTheRequest) {
  start_gateway();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  auto pipe = serve::make_body_pipe(64 * 1024);
  auto request = get("/echo");
  request.method = "POST";
  request.content = std::move(pipe.reader);
  const auto answer = send(std::move(request));
  ASSERT_TRUE(answer->has_head());
  pipe.writer->cut();
  ASSERT_TRUE(answer->has_ended());
  EXPECT_FALSE(answer->whole());
}

TEST_F(TunnelStreams, HeadersThatAreTooLargeAreRefused) {
  server_options_.limits.header = 4096;
  start_gateway();
  const auto clients = agent(pki_.agent("c1"), [](const serve::HttpRequest&, const serve::Reply& reply) {
    auto response = serve::answer_text(200, "hello");
    response.headers.emplace_back("x-large", std::string(8000, 'x'));
    reply(std::move(response));
  });
  ASSERT_TRUE(connected());
  const auto answer = send(get("/x"));
  ASSERT_TRUE(answer->has_ended());
  ASSERT_TRUE(answer->error());
  EXPECT_EQ(answer->error()->category, Category::kUnavailable);
  EXPECT_TRUE(registry_->has("c1")) << "one answer does not end the tunnel";
}

TEST_F(TunnelStreams, AMemberThatDoesNotAnswerIsATimeout) {
  server_options_.limits.head = 1000ms;
  start_gateway();
  const auto clients = agent(pki_.agent("c1"));
  ASSERT_TRUE(connected());
  const auto answer = send(get("/hang"));
  ASSERT_TRUE(answer->has_ended());
  ASSERT_TRUE(answer->error());
  EXPECT_EQ(answer->error()->category, Category::kTimeout);
  EXPECT_TRUE(registry_->has("c1"));
}

}  // namespace
}  // namespace fleetadm::proxy
