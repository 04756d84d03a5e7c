// Short tasks side by side, within a bound that all callers share.
#pragma once

#include <cstddef>
#include <functional>
#include <semaphore>

namespace fleetadm::controller {

/// Thread-safe. Threads live only while there is something to do side by side: an idle process has none.
class ParallelRunner {
 public:
  /// At most so many threads beside those of the callers.
  explicit ParallelRunner(std::ptrdiff_t most) : free_(most) {}

  /// Calls task(0) … task(count - 1), each once and in this order begun: on the calling thread, and on as many others as are
  /// free. Returns when all have ended. What a task throws ends the others not yet begun, and is thrown here.
  void run(std::size_t count, const std::function<void(std::size_t)>& task);

 private:
  std::counting_semaphore<> free_;
};

}  // namespace fleetadm::controller
