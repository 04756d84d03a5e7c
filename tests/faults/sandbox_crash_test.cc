// A few of the hundred rounds that ./dev bench sandbox makes.
#include "tests/support/sandbox_crash.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace fleetadm::testkit {
namespace {

TEST(SandboxCrash, LosesNoAcknowledgedWriteAndSkipsNoEvent) {
  const char* binary = std::getenv("FLEETADM_BINARY");
  if (binary == nullptr) GTEST_SKIP() << "FLEETADM_BINARY is not set";
  const auto outcome = crash_sandbox(binary, 6, 600);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->rounds, 6);
  EXPECT_GT(outcome->acknowledged, 20);
  EXPECT_GT(outcome->events, 0);
  EXPECT_TRUE(outcome->lost.empty()) << outcome->lost.size() << " lost, first: " << outcome->lost.front();
  EXPECT_TRUE(outcome->skipped.empty()) << outcome->skipped.size() << " skipped, first: " << outcome->skipped.front();
}

}  // namespace
}  // namespace fleetadm::testkit
