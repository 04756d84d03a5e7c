#include "kubeclient/base/sleep.h"

#include <condition_variable>
#include <mutex>

namespace fleetadm {

bool sleep_for(Duration delay, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, delay, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace fleetadm
