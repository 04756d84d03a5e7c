#include "kubeclient/transport/observer.h"

#include <atomic>
#include <mutex>

namespace fleetadm::kube {
namespace {

struct Observed {
  std::atomic<bool> taken{false};
  std::mutex mutex;
  std::shared_ptr<RequestObserver> observer;
};

Observed& observed() {
  static Observed the_one;
  return the_one;
}

}  // namespace

void observe_requests(std::shared_ptr<RequestObserver> observer) {
  const std::scoped_lock lock(observed().mutex);
  observed().taken = observer != nullptr;
  observed().observer = std::move(observer);
}

std::shared_ptr<RequestObserver> request_observer() {
  if (!observed().taken) return nullptr;
  const std::scoped_lock lock(observed().mutex);
  return observed().observer;
}

}  // namespace fleetadm::kube
