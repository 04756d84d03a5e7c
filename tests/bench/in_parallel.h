// Work that a few plain clients do at once.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "kubeclient/base/result.h"

namespace fleetadm::bench {

inline constexpr int kClients = 8;

/// Runs `work(0)` … `work(count - 1)` on a few threads; the first failure ends it.
inline Status in_parallel(int count, const std::function<Status(int)>& work) {
  std::atomic<int> next{0};
  std::mutex mutex;
  Status outcome;
  std::vector<std::jthread> threads;
  for (int t = 0; t < kClients; ++t) {
    threads.emplace_back([&] {
      for (int i = next++; i < count; i = next++) {
        Status done = work(i);
        if (done) continue;
        const std::lock_guard lock(mutex);
        if (outcome) outcome = std::move(done);
        next = count;
      }
    });
  }
  threads.clear();
  return outcome;
}

}  // namespace fleetadm::bench
