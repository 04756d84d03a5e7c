// Answers that do not end soon: watches, logs, large lists, and what comes after an upgrade.
#include <atomic>
#include <thread>

#include "core/serve/http/body_pipe.h"
#include "tests/unit/core/proxy/hop/hop_lab.h"

namespace fleetadm::proxy {
namespace {

using namespace std::chrono_literals;

/// Says back what it is told; "bye" ends it.
class Echo final : public serve::UpgradedStream {
 public:
  More read(std::string& into, std::size_t most) override {
    const auto size = std::min(most, said_.size());
    into.append(said_, 0, size);
    said_.erase(0, size);
    if (size > 0) return More::kYes;
    return over_ ? More::kEnd : More::kLater;
  }
  void on_ready(std::function<void()> wake) override { wake_ = std::move(wake); }
  void begin(const serve::WatchDescriptor& /*watch*/) override {}
  bool take(std::string_view bytes) override {
    if (bytes.ends_with("bye")) {
      over_ = true;
    } else {
      said_ += bytes;
    }
    if (wake_) wake_();
    return !over_;
  }
  bool takes() const override { return said_.size() < 1024 * 1024; }

 private:
  std::string said_;
  std::function<void()> wake_;
  bool over_ = false;
};

class Http1HopStreams : public HopLab {
 protected:
  ~Http1HopStreams() override {
    listener_.reset();
    server_.stop();
  }
  void serve(std::function<serve::HttpResponse(const serve::HttpRequest&)> handler) {
    serve::ListenOptions options;
    options.certificate = server_certificate();
    listener_ = std::move(*serve::HttpListener::start(server_, options, std::move(handler)));
  }
  std::shared_ptr<HopAnswer> upgrade(const std::string& path) {
    auto asked = request("POST", path);
    asked.headers = {{"connection", "Upgrade"}, {"upgrade", "SPDY/3.1"}, {"x-stream-protocol-version", "v4.channel.k8s.io"}};
    return send(asked);
  }

  serve::HttpRuntime server_{4};
  std::unique_ptr<serve::HttpListener> listener_;
};

TEST_F(Http1HopStreams, AWatchGoesOnUntilItIsDropped) {
  auto pipe = serve::make_body_pipe(1024);
  serve([&](const serve::HttpRequest&) {
    serve::HttpResponse out;
    out.stream = pipe.reader;
    return out;
  });
  auto options = options_for(listener_->port());
  options.head = 100ms;  // of the head, not of what follows
  use(options);
  const auto watch = get("/watch");
  ASSERT_TRUE(watch->has_head());
  for (int i = 0; i < 5; ++i) {
    const std::string event = "event " + std::to_string(i) + "\n";
    std::string_view text = event;
    ASSERT_EQ(pipe.writer->write(text, 5s), serve::BodyWriter::Outcome::kTaken);
    ASSERT_TRUE(watch->has_body(event)) << "an event is handed on at once";
    std::this_thread::sleep_for(150ms);
  }
  watch->drop();
  EXPECT_TRUE(soon([&] { return counts().open == 0; }));
  pipe.reader.reset();
  EXPECT_TRUE(soon([&] {
    std::string_view more = "x";
    return pipe.writer->write(more, 1ms) == serve::BodyWriter::Outcome::kAbandoned;
  })) << "the server notices";
}

TEST_F(Http1HopStreams, AReaderThatStopsHoldsABoundedPart) {
  auto pipe = serve::make_body_pipe(64 * 1024);
  std::atomic<std::size_t> sent{0};
  serve([&](const serve::HttpRequest& request) {
    if (request.path != "/large") return serve::answer_text(200, "ok");
    serve::HttpResponse out;
    out.stream = pipe.reader;
    return out;
  });
  auto options = options_for(listener_->port());
  options.window = 64 * 1024;
  use(options);
  const auto slow = send(request("GET", "/large"), true);
  ASSERT_TRUE(slow->has_head());
  constexpr std::size_t kAll = 64U * 1024U * 1024U;
  std::jthread writer([&](const std::stop_token& stop) {
    const std::string piece(64 * 1024, 'x');
    while (sent < kAll && !stop.stop_requested()) {
      std::string_view rest = piece;
      const auto outcome = pipe.writer->write(rest, 100ms);
      sent += piece.size() - rest.size();
      if (outcome == serve::BodyWriter::Outcome::kAbandoned) return;
    }
    pipe.writer->finish();
  });
  std::size_t before = 0;
  ASSERT_TRUE(soon([&] {
    std::this_thread::sleep_for(200ms);
    return std::exchange(before, sent.load()) == sent && sent > 0;
  }));
  // What the kernel's buffers hold between the two is its own matter.
  EXPECT_LT(sent, 16U * 1024U * 1024U);
  std::size_t held = 0;
  on_io_thread([&] {
    std::string piece;
    slow->response().stream->read(piece, kAll);
    held = piece.size();
  });
  EXPECT_LE(held, 64U * 1024U + 16U * 1024U);
  EXPECT_EQ(get_and_wait("/")->body(), "ok") << "others are not held up";
  slow->read();
  ASSERT_TRUE(slow->has_ended());
  EXPECT_TRUE(slow->whole());
  EXPECT_EQ(slow->body().size() + held, sent);
  EXPECT_TRUE(soon([&] { return counts().idle == 2; })) << "the connection is kept after it";
}

TEST_F(Http1HopStreams, AnUpgradePassesBytesBothWays) {
  serve([](const serve::HttpRequest& request) {
    EXPECT_EQ(request.header("x-stream-protocol-version"), "v4.channel.k8s.io");
    serve::HttpResponse out;
    out.status = 101;
    out.headers = {{"connection", "Upgrade"},
                   {"upgrade", std::string(request.header("upgrade"))},
                   {"x-stream-protocol-version", "v4.channel.k8s.io"}};
    out.upgrade = std::make_shared<Echo>();
    return out;
  });
  use(options_for(listener_->port()));
  const auto session = upgrade("/exec");
  ASSERT_TRUE(session->has_head());
  ASSERT_FALSE(session->error()) << session->error()->message;
  EXPECT_EQ(session->status(), 101);
  EXPECT_EQ(session->header("upgrade"), "SPDY/3.1");
  EXPECT_EQ(session->header("connection"), "Upgrade");
  EXPECT_EQ(session->header("x-stream-protocol-version"), "v4.channel.k8s.io");
  ASSERT_TRUE(session->response().upgrade);
  for (int i = 0; i < 10; ++i) {
    session->say("hello " + std::to_string(i) + "\n");
    ASSERT_TRUE(session->has_body("hello " + std::to_string(i) + "\n"));
  }
  const std::string much(3 * 1024 * 1024, 'm');
  session->say(much);
  ASSERT_TRUE(session->has_body(much));
  session->say("bye");
  ASSERT_TRUE(session->has_ended());
  EXPECT_TRUE(soon([&] { return counts().open == 1; })) << "the next one's";
}

TEST_F(Http1HopStreams, AnUpgradeThatIsDroppedCloses) {
  auto echo = std::make_shared<Echo>();
  const std::weak_ptr<Echo> weak = echo;
  serve([&](const serve::HttpRequest&) {
    serve::HttpResponse out;
    out.status = 101;
    out.headers = {{"connection", "Upgrade"}, {"upgrade", "SPDY/3.1"}};
    out.upgrade = std::move(echo);
    return out;
  });
  use(options_for(listener_->port()));
  const auto session = upgrade("/exec");
  ASSERT_TRUE(session->has_head());
  session->drop();
  EXPECT_TRUE(soon([&] { return weak.expired(); }));
  EXPECT_TRUE(soon([&] { return counts().open == 1; })) << "the next one's";
}

TEST_F(Http1HopStreams, AnUpgradeKeepsItsConnectionAndTheNextFindsOneReady) {
  serve([](const serve::HttpRequest& request) {
    if (request.path == "/get") return serve::answer_text(200, "ok");
    serve::HttpResponse out;
    out.status = 101;
    out.headers = {{"connection", "Upgrade"}, {"upgrade", "SPDY/3.1"}};
    out.upgrade = std::make_shared<Echo>();
    return out;
  });
  use(options_for(listener_->port()));
  const auto first = upgrade("/exec");
  ASSERT_TRUE(first->has_head());
  ASSERT_TRUE(soon([&] { return counts().idle == 1; }));
  EXPECT_EQ(counts().made, 2U);
  const auto second = upgrade("/exec");
  ASSERT_TRUE(second->has_head());
  ASSERT_TRUE(soon([&] { return counts().idle == 1; }));
  EXPECT_EQ(counts().made, 3U) << "it took the one that was ready";
  EXPECT_EQ(get_and_wait("/get")->body(), "ok");
  EXPECT_EQ(counts().made, 3U);
  EXPECT_EQ(counts().idle, 1U) << "one is enough";
}

TEST_F(Http1HopStreams, ARefusedUpgradeIsAnAnswerAsAnyOther) {
  serve([](const serve::HttpRequest&) { return serve::answer_text(403, "no exec"); });
  use(options_for(listener_->port()));
  const auto refused = upgrade("/exec");
  ASSERT_TRUE(refused->has_ended());
  EXPECT_EQ(refused->status(), 403);
  EXPECT_EQ(refused->body(), "no exec");
  EXPECT_FALSE(refused->response().upgrade);
  EXPECT_EQ(counts().idle, 1U);
}

TEST_F(Http1HopStreams, ManyRequestsOneAfterTheOtherLeaveNothing) {
  serve([](const serve::HttpRequest& request) { return serve::answer_text(200, request.path); });
  use(options_for(listener_->port()));
  for (int i = 0; i < 2000; ++i) {
    const auto path = "/" + std::to_string(i);
    ASSERT_EQ(get_and_wait(path)->body(), path);
  }
  EXPECT_EQ(counts().made, 1U);
}

}  // namespace
}  // namespace fleetadm::proxy
