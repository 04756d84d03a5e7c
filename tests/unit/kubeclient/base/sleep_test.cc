#include "kubeclient/base/sleep.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

namespace fleetadm {
namespace {

TEST(SleepFor, EndsWithItsTimeOrWithTheStop) {
  std::stop_source source;
  EXPECT_TRUE(sleep_for(std::chrono::milliseconds(1), source.get_token()));
  const auto begin = std::chrono::steady_clock::now();
  std::jthread stopper([&] { source.request_stop(); });
  EXPECT_FALSE(sleep_for(std::chrono::minutes(10), source.get_token()));
  EXPECT_FALSE(sleep_for(std::chrono::minutes(10), source.get_token())) << "it is stopped already";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(5));
}

}  // namespace
}  // namespace fleetadm
