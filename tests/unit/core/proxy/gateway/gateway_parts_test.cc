// The parts of the gateway that need no client.
#include <atomic>
#include <fstream>
#include <future>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/proxy/gateway/answer_cache.h"
#include "core/proxy/gateway/audit_log.h"
#include "core/proxy/gateway/request_limits.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::proxy {
namespace {

using namespace std::chrono_literals;

class AnswersOnce : public testing::Test {
 protected:
  using Cache = AnswerCache<int>;

  ~AnswersOnce() override { runtime_.stop(); }
  /// Asks as many times at once as it is told, and waits for all answers.
  std::vector<Result<std::shared_ptr<const int>>> ask(const std::string& key, const Cache::Question& question, int times = 1) {
    std::promise<void> all;
    std::vector<Result<std::shared_ptr<const int>>> out;
    boost::asio::post(runtime_.executor(), [&] {
      for (int i = 0; i < times; ++i) {
        cache_->get(key, question, [&](const auto& answer) {
          out.push_back(answer);
          if (static_cast<int>(out.size()) == times) all.set_value();
        });
      }
    });
    all.get_future().wait();
    return out;
  }
  Cache::Question counting(int value, Duration keep = 10s) {
    return [this, value, keep]() -> Result<Cache::Answer> {
      ++asked_;
      return Cache::Answer{std::make_shared<const int>(value), keep};
    };
  }

  serve::HttpRuntime runtime_{2};
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>(Clock::system()->now());
  std::shared_ptr<Cache> cache_ = std::make_shared<Cache>(runtime_, clock_, 2);
  std::atomic<int> asked_{0};
};

TEST_F(AnswersOnce, HoweverManyWantToKnow) {
  const auto answers = ask("a", counting(7), 50);
  EXPECT_EQ(asked_, 1);
  for (const auto& answer : answers) EXPECT_EQ(**answer, 7);
}

TEST_F(AnswersOnce, ForAsLongAsItHolds) {
  ask("a", counting(1));
  clock_->advance(9s);
  EXPECT_EQ(**ask("a", counting(2))[0], 1);
  clock_->advance(2s);
  EXPECT_EQ(**ask("a", counting(3))[0], 3);
  clock_->advance(-1h);
  EXPECT_EQ(**ask("a", counting(4))[0], 4) << "a clock that was set back makes nothing last longer";
}

TEST_F(AnswersOnce, ButWhatFailedOrIsOverIsAskedAgain) {
  const auto failing = [this]() -> Result<Cache::Answer> {
    ++asked_;
    return fail(Category::kUnavailable, "away");
  };
  EXPECT_FALSE(ask("a", failing)[0]);
  EXPECT_FALSE(ask("a", failing)[0]);
  EXPECT_EQ(asked_, 2);
  ask("a", counting(1, Duration::zero()));
  ask("a", counting(1, Duration(-5s)));
  EXPECT_EQ(asked_, 4);
}

TEST_F(AnswersOnce, AndKeepsOnlySoMany) {
  for (const char* key : {"a", "b", "c"}) ask(key, counting(1));
  EXPECT_EQ(cache_->size(), 2U);
  ask("c", counting(1));
  EXPECT_EQ(asked_, 3);
  ask("a", counting(1));
  EXPECT_EQ(asked_, 4) << "the oldest was dropped";
}

TEST(GatewayLimits, ACallerHasOnlySoManyPlacesAndGetsThemBack) {
  RequestLimits limits({.per_caller = 2, .per_cluster = 3, .rate = 0, .burst = 0});
  const RequestLimits::Time now{};
  auto first = limits.enter_caller("jane", now);
  auto second = limits.enter_caller("jane", now);
  ASSERT_TRUE(first && second);
  const auto third = limits.enter_caller("jane", now);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, 429);
  EXPECT_EQ(third.error().retry_after_seconds, 1);
  EXPECT_TRUE(limits.enter_caller("joe", now));
  *first = nullptr;
  EXPECT_TRUE(limits.enter_caller("jane", now));
}

TEST(GatewayLimits, TheRateFillsUpAgain) {
  RequestLimits limits({.per_caller = 100, .per_cluster = 100, .rate = 10, .burst = 2});
  RequestLimits::Time now{};
  EXPECT_TRUE(limits.enter_caller("jane", now));
  EXPECT_TRUE(limits.enter_caller("jane", now));
  EXPECT_FALSE(limits.enter_caller("jane", now));
  EXPECT_TRUE(limits.enter_caller("joe", now));
  now += 100ms;
  EXPECT_TRUE(limits.enter_caller("jane", now));
  EXPECT_FALSE(limits.enter_caller("jane", now));
}

TEST(GatewayLimits, BytesFillUpAgainUpToASecondsWorth) {
  RequestLimits limits({.caller_bytes = 1000, .cluster_bytes = 500});
  RequestLimits::Time now{};
  const auto bytes = limits.bytes_of_caller("jane", now);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(limits.bytes_of_caller("jane", now), bytes) << "of all that she does";
  EXPECT_NE(limits.bytes_of_caller("joe", now), bytes);
  EXPECT_EQ(bytes->room(now), 1000U);
  bytes->spend(1500);
  EXPECT_EQ(bytes->room(now), 0U);
  now += 700ms;
  EXPECT_EQ(bytes->room(now), 200U);
  now += 1h;
  EXPECT_EQ(bytes->room(now), 1000U);
  EXPECT_EQ(limits.bytes_of_cluster("c1", now)->room(now), 500U);
  EXPECT_EQ(limits.bytes_of_cluster("c1", now), limits.bytes_of_cluster("c1", now)) << "of all its callers";
  EXPECT_FALSE(RequestLimits({}).bytes_of_caller("jane", now));
  EXPECT_FALSE(RequestLimits({}).bytes_of_cluster("c1", now));
}

TEST(GatewayLimits, WhoHasGoneIsForgotten) {
  RequestLimits limits({.per_caller = 100, .per_cluster = 100, .rate = 10, .burst = 20});
  RequestLimits::Time now{};
  now += 1h;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(limits.enter_caller("user" + std::to_string(i), now));
  const auto stays = limits.enter_caller("stays", now);
  now += 1min;
  EXPECT_TRUE(limits.enter_caller("jane", now));
  EXPECT_EQ(limits.callers(), 2U);
}

TEST(GatewayLimits, APlaceOutlivesTheLimits) {
  RequestLimits::Place place;
  {
    RequestLimits limits({});
    place = *limits.enter_cluster("c1", {});
  }
  place = nullptr;
}

TEST(GatewayAuditLog, AppendsLinesForItsOwnerAlone) {
  const testkit::TemporaryFolder folder;
  const std::string path = folder.path() / "audit.log";
  std::ofstream(path) << "before\n";
  ::chmod(path.c_str(), 0600);
  {
    auto log = AuditLog::open(path);
    ASSERT_TRUE(log);
    for (int i = 0; i < 1000; ++i) (*log)->write("line " + std::to_string(i));
  }
  std::ifstream file(path);
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_EQ(line, "before");
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(std::getline(file, line));
    EXPECT_EQ(line, "line " + std::to_string(i));
  }
  const std::string made = folder.path() / "made.log";
  ASSERT_TRUE(AuditLog::open(made));
  struct stat info {};
  ASSERT_EQ(::stat(made.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST(GatewayAuditLog, AFileThatCannotBeOpenedIsAUsageError) {
  const auto log = AuditLog::open("/nonexistent/audit.log");
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().category, Category::kUsage);
}

}  // namespace
}  // namespace fleetadm::proxy
