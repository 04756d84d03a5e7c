// Answers that wait: when they are looked at.
#include <gtest/gtest.h>
#include <string>

#include "core/serve/http/protocol.h"
#include "tests/unit/core/serve/http/http2_bytes.h"

namespace fleetadm::serve {
namespace {

using Steady = std::chrono::steady_clock;

/// Has nothing to say.
struct SilentBody final : BodyStream {
  More read(std::string& /*into*/, std::size_t /*most*/) override {
    ++reads;
    return More::kLater;
  }
  void on_ready(std::function<void()> to_wake) override { wake = std::move(to_wake); }
  bool due(Steady::time_point now) const override { return now >= due_at; }

  int reads = 0;
  std::function<void()> wake;
  Steady::time_point due_at = Steady::time_point::max();
};

TEST(Http2Ticks, AnAnswerIsReadWhenItIsReadyOrDueAndElseNot) {
  const auto body = std::make_shared<SilentBody>();
  HttpLimits limits;
  ProtocolHost host;
  host.room = std::make_shared<MemoryBudget>(limits.bodies);
  host.limits = limits;
  host.handle = [&](const HttpRequest&, const Reply& reply) {
    HttpResponse answer;
    answer.stream = body;
    reply(std::move(answer));
  };
  host.flush = [] {};
  host.post = [](const std::function<void()>& task) { task(); };
  const auto protocol = make_http2(std::move(host));
  const auto flush = [&] {
    std::string out;
    protocol->output(out, 1024 * 1024);
  };
  ASSERT_TRUE(protocol->feed(std::string(kPreface) + h2_frame(4, 0, 0) + h2_frame(4, 1, 0) + h2_frame(1, 5, 1, h2_head())));
  flush();
  EXPECT_EQ(body->reads, 1);
  const auto now = Steady::now();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(protocol->tick(now));
    flush();
  }
  EXPECT_EQ(body->reads, 1) << "neither ready nor due";
  body->wake();
  flush();
  flush();
  EXPECT_EQ(body->reads, 2) << "once, since it woke once";
  body->due_at = now;
  flush();
  EXPECT_EQ(body->reads, 2) << "asked at ticks only";
  ASSERT_TRUE(protocol->tick(now));
  flush();
  flush();
  EXPECT_EQ(body->reads, 3);
}

}  // namespace
}  // namespace fleetadm::serve
