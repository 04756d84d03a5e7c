#include "core/controller/memory.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace fleetadm::controller {
namespace {

/// KiB of pages that belong to files: the program and its libraries.
long resident_of_files() {
  std::ifstream in("/proc/self/status");
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with("RssFile:")) return std::strtol(line.c_str() + 8, nullptr, 10);
  }
  return -1;
}

TEST(Memory, PagesThatNobodyWritesAreGivenBackAndComeAgain) {
  keep_memory_small();
  const long before = resident_of_files();
  if (before <= 0) GTEST_SKIP() << "this system does not tell what is resident";
  give_memory_back();
  EXPECT_LT(resident_of_files(), before);
  // Constants and code are as they were.
  const std::string text(1000, 'x');
  EXPECT_EQ(text.find('y'), std::string::npos);
  EXPECT_EQ(std::to_string(3.5), "3.500000");
}

TEST(Memory, AProcessAtRestIsTidiedSeldomAndOneThatGrowsOften) {
  if (resident_of_files() <= 0) GTEST_SKIP() << "this system does not tell what is resident";
  auto now = std::chrono::steady_clock::now();
  MemoryTidier tidier;
  EXPECT_TRUE(tidier.look(now));
  now += std::chrono::seconds(2);
  EXPECT_FALSE(tidier.look(now));
  const std::vector<char> more(16 * MemoryTidier::kGrowth, 'x');
  EXPECT_TRUE(tidier.look(now));
  now += std::chrono::seconds(2);
  EXPECT_FALSE(tidier.look(now)) << "what is in use stays";
  now += MemoryTidier::kLongest;
  EXPECT_TRUE(tidier.look(now));
  EXPECT_EQ(more.back(), 'x');
}

}  // namespace
}  // namespace fleetadm::controller
