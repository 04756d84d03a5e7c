// When a member that cannot be connected is tried again, and when no more.
#include "core/push/tries.h"

#include <gtest/gtest.h>

namespace fleetadm::push {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const Instant kFirstTry = Instant(hours(24 * 365 * 50));

TEST(PushTries, AYoungOutageIsLookedAtEachSecondAndAnOldOneEveryFewMinutes) {
  const Tries tries{Duration::zero()};
  const auto next = [&](Duration lasts) { return tries.until_next(Seen::kUnreachable, kFirstTry, kFirstTry + lasts); };
  EXPECT_EQ(next(Duration::zero()), Duration(seconds(1)));
  EXPECT_EQ(next(seconds(299)), Duration(seconds(1)));
  EXPECT_EQ(next(seconds(300)), Duration(seconds(7)));
  EXPECT_EQ(next(seconds(360)), Duration(seconds(30)));
  EXPECT_EQ(next(hours(13)), Duration(minutes(2)));
}

TEST(PushTries, WhatOnlyPeopleMendIsTriedAfterSevenSecondsAndLaterLessOften) {
  const Tries tries{Duration::zero()};
  for (const Seen seen : {Seen::kRefused, Seen::kCertificateExpired, Seen::kUntrusted, Seen::kOtherCluster}) {
    EXPECT_EQ(tries.until_next(seen, kFirstTry, kFirstTry), Duration(seconds(7)));
    EXPECT_EQ(tries.until_next(seen, kFirstTry, kFirstTry + seconds(20)), Duration(seconds(10)));
    EXPECT_EQ(tries.until_next(seen, kFirstTry, kFirstTry + hours(1)), Duration(minutes(2)));
  }
}

TEST(PushTries, AreManyAtFirstAndFewInADay) {
  Tries tries{Duration::zero()};
  int tried = 0;
  for (Duration lasts{}; lasts < hours(24); lasts += tries.until_next(Seen::kRefused, kFirstTry, kFirstTry + lasts)) {
    tries.take(false);
    ++tried;
  }
  EXPECT_LT(tried, 24 * 30 + 20);
  EXPECT_FALSE(tries.gave_up(kFirstTry, kFirstTry + hours(24))) << "for ever";
}

TEST(PushTries, EndWhenTheTimeForThemIsOver) {
  Tries tries{minutes(10)};
  for (int i = 0; i < 3; ++i) tries.take(false);
  EXPECT_FALSE(tries.gave_up(kFirstTry, kFirstTry + seconds(599)));
  EXPECT_EQ(tries.until_next(Seen::kRefused, kFirstTry, kFirstTry + seconds(598)), Duration(seconds(2)))
      << "not later than its end";
  EXPECT_TRUE(tries.gave_up(kFirstTry, kFirstTry + minutes(10)));
}

TEST(PushTries, BeginAnewForAReason) {
  Tries tries{minutes(10)};
  for (int i = 0; i < 5; ++i) tries.take(false);
  ASSERT_TRUE(tries.gave_up(kFirstTry, kFirstTry + hours(1)));
  tries.begin_anew(kFirstTry + hours(1));
  for (int i = 0; i < 5; ++i) tries.take(false);
  EXPECT_FALSE(tries.gave_up(kFirstTry, kFirstTry + hours(1) + minutes(9)));
  EXPECT_EQ(tries.until_next(Seen::kRefused, kFirstTry, kFirstTry + hours(1)), Duration(seconds(7)));
  EXPECT_TRUE(tries.gave_up(kFirstTry, kFirstTry + hours(1) + minutes(10)));
}

TEST(PushTries, AnotherProcessTriesItselfBeforeItGivesUp) {
  Tries tries{minutes(10)};
  EXPECT_FALSE(tries.gave_up(kFirstTry, kFirstTry + hours(1)));
  for (int i = 0; i < 3; ++i) tries.take(false);
  EXPECT_TRUE(tries.gave_up(kFirstTry, kFirstTry + hours(1)));
  tries.take(true);
  EXPECT_FALSE(tries.gave_up(kFirstTry, kFirstTry + hours(1)));
}

TEST(PushTries, AClockThatWasSetBackEndsNothing) {
  Tries tries{minutes(10)};
  for (int i = 0; i < 3; ++i) tries.take(false);
  EXPECT_FALSE(tries.gave_up(kFirstTry, kFirstTry - hours(1)));
  EXPECT_EQ(tries.until_next(Seen::kRefused, kFirstTry, kFirstTry - hours(1)), Duration(seconds(7)));
}

}  // namespace
}  // namespace fleetadm::push
