#include "core/controller/parallel_runner.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace fleetadm::controller {

void ParallelRunner::run(std::size_t count, const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto work_on = [&] {
    for (std::size_t at = next++; at < count; at = next++) {
      try {
        task(at);
      } catch (...) {
        next = count;
        const std::lock_guard lock(mutex);
        if (!thrown) thrown = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (std::size_t helper = 1; helper < count && free_.try_acquire(); ++helper) {
      try {
        threads.emplace_back([&] {
          work_on();
          free_.release();
        });
      } catch (const std::system_error&) {  // no more threads to be had: it takes longer
        free_.release();
        break;
      }
    }
    work_on();
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace fleetadm::controller
