// Programs of controllers run for months, some on clusters that are small: what only their start and their bursts needed goes
// back to the system.
#pragma once

#include <chrono>
#include <cstdint>

namespace fleetadm::controller {

/// Few allocation arenas, and large blocks that are unmapped when they are freed. Before threads start.
void keep_memory_small();

/// Returns free heap pages, and unmaps unwritten pages of program and libraries: what is needed again comes back from the page
/// cache. Costs some hundred page faults; call it seldom. Where the C library is not glibc, nothing happens.
void give_memory_back();

/// Calls it for a process of which bursts are expected: often while that grows, for a burst would take more pages than it needs,
/// and seldom otherwise, for a process at rest would take the same pages again each time. One thread.
class MemoryTidier {
 public:
  static constexpr std::uint64_t kGrowth = std::uint64_t{256} * 1024;  // bytes since the last time
  static constexpr auto kLongest = std::chrono::seconds(10);

  /// To be called often. Whether it gave back.
  bool look(std::chrono::steady_clock::time_point now);

 private:
  std::uint64_t kept_ = 0;  // bytes of its own after the last time
  std::chrono::steady_clock::time_point tidied_{};
};

}  // namespace fleetadm::controller
