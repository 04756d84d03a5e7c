#include "core/sandbox/fleet/memory.h"

#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

#include "core/controller/metrics.h"

namespace fleetadm::sandbox {
namespace {

// A sanitizer has a heap of its own.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(SpareMemory, WhatABurstTookIsGivenBack) {
  using Blocks = std::vector<std::unique_ptr<std::string>>;
  SpareMemory spare;
  spare.give_back();
  const auto before = controller::resident_bytes();
  constexpr std::size_t kThreads = 4;
  std::vector<Blocks> kept(kThreads);
  {
    std::vector<std::jthread> threads;
    for (auto& keep : kept) {
      threads.emplace_back([&keep] {
        Blocks burst;
        for (int i = 0; i < 40'000; ++i) burst.push_back(std::make_unique<std::string>(1'000, 'x'));
        // What stays at the end of a heap keeps all below it resident.
        for (std::size_t i = 0; i < burst.size(); i += 1'000) keep.push_back(std::move(burst[i]));
        keep.push_back(std::move(burst.back()));
      });
    }
  }
  const auto burst = controller::resident_bytes();
  ASSERT_GT(burst, before + 100'000'000);
  EXPECT_TRUE(spare.give_back());
  EXPECT_LT(controller::resident_bytes(), before + 20'000'000);
  EXPECT_FALSE(spare.give_back()) << "nothing has grown since";
}

TEST(SpareMemory, WhatIsFreedAfterALookIsGivenBackToo) {
  SpareMemory spare;
  spare.give_back();
  const auto before = controller::resident_bytes();
  std::vector<std::unique_ptr<std::string>> kept;
  {
    std::vector<std::unique_ptr<std::string>> burst;
    for (int i = 0; i < 100'000; ++i) burst.push_back(std::make_unique<std::string>(1'000, 'x'));
    for (std::size_t i = 0; i < burst.size(); i += 1'000) kept.push_back(std::move(burst[i]));
    kept.push_back(std::move(burst.back()));
    EXPECT_FALSE(spare.give_back()) << "all of it is in use";
  }
  ASSERT_GT(controller::resident_bytes(), before + 80'000'000);
  EXPECT_TRUE(spare.give_back());
  EXPECT_LT(controller::resident_bytes(), before + 20'000'000);
}
#endif

}  // namespace
}  // namespace fleetadm::sandbox
