#include "kubeclient/base/backoff.h"

#include <gtest/gtest.h>

namespace fleetadm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Backoff, DoublesUpToItsLimitAndStartsAgain) {
  Backoff backoff(milliseconds(100), milliseconds(350));
  EXPECT_EQ(backoff.next(), milliseconds(100));
  EXPECT_EQ(backoff.next(), milliseconds(200));
  EXPECT_EQ(backoff.next(), milliseconds(350));
  EXPECT_EQ(backoff.next(), milliseconds(350));
  backoff.reset();
  EXPECT_EQ(backoff.next(), milliseconds(100));
}

TEST(Backoff, KnowsTheDelayOfAnyTry) {
  EXPECT_EQ(backoff_delay(seconds(10), seconds(600), 0), seconds(10));
  EXPECT_EQ(backoff_delay(seconds(10), seconds(600), 6), seconds(320));
  EXPECT_EQ(backoff_delay(seconds(10), seconds(600), 1'000'000), seconds(600));
  EXPECT_EQ(backoff_delay(Duration::zero(), seconds(600), 1'000'000), Duration::zero());
  EXPECT_EQ(backoff_delay(seconds(10), seconds(5), 1), seconds(5));
  EXPECT_EQ(backoff_delay(seconds(1), Duration::max(), 1'000), Duration::max());
}

TEST(Backoff, AddsItsShareOfJitter) {
  EXPECT_EQ(jittered(seconds(1), 0), seconds(1));
  Duration least = Duration::max();
  Duration most = Duration::zero();
  Backoff backoff(seconds(1), seconds(1), 0.5);
  for (int i = 0; i < 1000; ++i) {
    const Duration delay = backoff.next();
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  EXPECT_GE(least, seconds(1));
  EXPECT_LT(least, milliseconds(1100));
  EXPECT_GT(most, milliseconds(1400));
  EXPECT_LE(most, milliseconds(1500));
}

}  // namespace
}  // namespace fleetadm
