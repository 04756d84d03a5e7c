// What a member is asked, and that nobody waits for one that hangs.
#include "core/push/probe.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace fleetadm::push {
namespace {

using std::chrono::milliseconds;

struct Stream final : kube::StreamHandle {
  void cancel() override {}
};

/// Answers each path with its status; a path without one gets no answer, and one with 0 a failure.
class Answers final : public kube::Transport {
 public:
  explicit Answers(std::map<std::string, int> statuses) : statuses_(std::move(statuses)) {}

  Result<kube::Response> call(const kube::Request& /*request*/) override { return fail(Category::kInternal, "nothing waits"); }
  std::unique_ptr<kube::StreamHandle> stream(const kube::Request& request, std::shared_ptr<kube::StreamSink> sink) override {
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back(request.path);
    }
    const auto status = statuses_.find(request.path);
    if (status == statuses_.end()) return std::make_unique<Stream>();
    kube::IoLoop::shared()->post([sink, answer = status->second] {
      if (answer == 0) return sink->on_end(fail(Category::kUnavailable, "connection refused").value());
      sink->on_response(answer, {});
      sink->on_data("x");
      sink->on_end(std::nullopt);
    });
    return std::make_unique<Stream>();
  }
  std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  const std::map<std::string, int> statuses_;
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
};

/// Waits for one look.
class Taken {
 public:
  std::function<void(Look)> taker() {
    return [this](Look look) {
      const std::lock_guard lock(mutex_);
      look_ = std::move(look);
      ++count_;
      came_.notify_all();
    };
  }
  Look wait() {
    std::unique_lock lock(mutex_);
    came_.wait_for(lock, std::chrono::seconds(10), [this] { return look_.has_value(); });
    return look_.value_or(Look{Seen::kNoCredential, -1, "no look came"});
  }
  int count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::optional<Look> look_;
  int count_ = 0;
};

Look look_at(const std::map<std::string, int>& statuses, std::vector<std::string>* asked = nullptr) {
  const auto answers = std::make_shared<Answers>(statuses);
  Taken taken;
  Prober prober(answers, milliseconds(200), Clock::system());
  prober.begin(taken.taker());
  Look look = taken.wait();
  if (asked != nullptr) *asked = answers->asked();
  return look;
}

TEST(PushProbe, AReadyMemberIsAskedOnce) {
  std::vector<std::string> asked;
  EXPECT_EQ(look_at({{"/readyz", 200}}, &asked).seen, Seen::kReady);
  EXPECT_EQ(asked, (std::vector<std::string>{"/readyz"}));
}

TEST(PushProbe, WhereReadyzIsUnknownOrForbiddenOthersCount) {
  std::vector<std::string> asked;
  EXPECT_EQ(look_at({{"/readyz", 404}, {"/livez", 200}}).seen, Seen::kReady);
  EXPECT_EQ(look_at({{"/readyz", 403}, {"/livez", 403}, {"/healthz", 200}}, &asked).seen, Seen::kReady);
  EXPECT_EQ(asked, (std::vector<std::string>{"/readyz", "/livez", "/healthz"}));
  EXPECT_EQ(look_at({{"/readyz", 404}, {"/livez", 404}, {"/healthz", 404}}).seen, Seen::kUnreachable);
}

TEST(PushProbe, AliveIsToldApartFromReady) {
  for (const int status : {500, 503, 202, 302}) {
    const Look look = look_at({{"/readyz", status}, {"/livez", 200}});
    EXPECT_EQ(look.seen, Seen::kNotReady) << status;
    EXPECT_EQ(look.code, status);
  }
  EXPECT_EQ(look_at({{"/readyz", 500}, {"/livez", 500}}).seen, Seen::kUnreachable);
}

TEST(PushProbe, ARefusedCredentialIsNoOutage) {
  EXPECT_EQ(look_at({{"/readyz", 401}}).seen, Seen::kRefused);
  EXPECT_EQ(look_at({{"/readyz", 500}, {"/livez", 401}}).seen, Seen::kRefused);
}

TEST(PushProbe, SilenceEndsInTime) {
  const auto began = std::chrono::steady_clock::now();
  const Look look = look_at({});
  EXPECT_EQ(look.seen, Seen::kUnreachable);
  EXPECT_EQ(look.code, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  EXPECT_EQ(look_at({{"/readyz", 500}}).seen, Seen::kUnreachable) << "the second answer never comes";
  EXPECT_EQ(look_at({{"/readyz", 0}}).seen, Seen::kUnreachable);
}

TEST(PushProbe, OneThatEndsIsNotCalledBack) {
  Taken taken;
  {
    Prober prober(std::make_shared<Answers>(std::map<std::string, int>{}), milliseconds(50), Clock::system());
    prober.begin(taken.taker());
  }
  Taken other;
  Prober later(std::make_shared<Answers>(std::map<std::string, int>{}), milliseconds(200), Clock::system());
  later.begin(other.taker());
  other.wait();
  EXPECT_EQ(taken.count(), 0);
}

TEST(PushProbe, OneLookAtATime) {
  const auto answers = std::make_shared<Answers>(std::map<std::string, int>{});
  Taken taken;
  Prober prober(answers, milliseconds(100), Clock::system());
  prober.begin(taken.taker());
  prober.begin(taken.taker());
  taken.wait();
  EXPECT_EQ(answers->asked().size(), 1U);
  EXPECT_EQ(taken.count(), 1);
}

constexpr auto kNever = [](const Look&) { return false; };

bool eventually(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

TEST(PushProbe, LooksOnUntilThereIsNews) {
  const auto answers = std::make_shared<Answers>(std::map<std::string, int>{{"/readyz", 200}});
  const auto clock = std::make_shared<FakeClock>(parse_time("2026-11-21T18:00:00Z").value());
  Taken taken;
  Prober prober(answers, milliseconds(200), clock);
  std::atomic<int> seen = 0;
  prober.keep_looking(
      milliseconds(20), [&](const Look& look) { return is_alive(look) && ++seen == 3; }, taken.taker());
  EXPECT_TRUE(answers->asked().empty()) << "not before the period";
  const Look look = taken.wait();
  EXPECT_EQ(look.seen, Seen::kReady);
  EXPECT_EQ(look.asked, clock->now());
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(answers->asked().size(), 3U) << "what was told is the last";
  EXPECT_EQ(taken.count(), 1);
}

TEST(PushProbe, ALookThatIsAskedForEndsThoseForNews) {
  const auto answers = std::make_shared<Answers>(std::map<std::string, int>{{"/readyz", 200}});
  Taken news;
  Taken taken;
  Prober prober(answers, milliseconds(200), Clock::system());
  prober.keep_looking(milliseconds(50), kNever, news.taker());
  EXPECT_TRUE(prober.begin(taken.taker()));
  EXPECT_EQ(taken.wait().seen, Seen::kReady);
  std::this_thread::sleep_for(milliseconds(150));
  EXPECT_EQ(answers->asked().size(), 1U);
  EXPECT_EQ(news.count(), 0);
}

TEST(PushProbe, ALookUnderWayIsToldOnceItIsAskedFor) {
  const auto answers = std::make_shared<Answers>(std::map<std::string, int>{});
  Taken news;
  Taken taken;
  Prober prober(answers, milliseconds(300), Clock::system());
  prober.keep_looking(milliseconds(10), kNever, news.taker());
  ASSERT_TRUE(eventually([&] { return answers->asked().size() == 1; }));
  EXPECT_FALSE(prober.begin(taken.taker()));
  EXPECT_EQ(news.wait().seen, Seen::kUnreachable);
  EXPECT_EQ(answers->asked().size(), 1U);
  EXPECT_EQ(taken.count(), 0);
}

TEST(PushProbe, StopsLooking) {
  const auto answers = std::make_shared<Answers>(std::map<std::string, int>{{"/readyz", 200}});
  Taken taken;
  Prober prober(answers, milliseconds(200), Clock::system());
  prober.keep_looking(milliseconds(10), kNever, taken.taker());
  ASSERT_TRUE(eventually([&] { return answers->asked().size() >= 2; }));
  prober.stop_looking();
  std::this_thread::sleep_for(milliseconds(50));
  const auto asked = answers->asked().size();
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(answers->asked().size(), asked);
  EXPECT_TRUE(prober.begin(taken.taker()));
  prober.stop_looking();
  EXPECT_EQ(taken.wait().seen, Seen::kReady) << "a look that was asked for is not one of these";
}

}  // namespace
}  // namespace fleetadm::push
