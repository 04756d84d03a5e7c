#include "core/agent/secret_watch.h"

#include <utility>

#include "kubeclient/rest/resource.h"

namespace fleetadm::agent {

/// Whoever tells holds the mutex, so that nothing is told any more once a listener is taken away.
struct SecretWatch::Listeners {
  std::mutex mutex;
  std::multimap<std::string, Told> by_name;
  bool watched = false;

  void changed(const std::string& name) {
    const std::lock_guard lock(mutex);
    const auto [begin, end] = by_name.equal_range(name);
    for (auto at = begin; at != end; ++at) at->second.changed();
  }
  void listed() {
    const std::lock_guard lock(mutex);
    watched = true;
    for (const auto& [name, told] : by_name) told.watched();
  }
};

SecretWatch::SecretWatch(const std::shared_ptr<kube::Informer>& secrets)
    : secrets_(secrets), listeners_(std::make_shared<Listeners>()) {
  secrets->on_event([listeners = listeners_](kube::EventType, const kube::CachedPtr& before, const kube::CachedPtr& after) {
    listeners->changed(kube::split_key((after ? *after : *before).key()).name);
  });
  secrets->on_synced([listeners = listeners_] { listeners->listed(); });
}

SecretWatch::Subscription SecretWatch::on(const std::string& name, Told told) {
  const std::lock_guard lock(listeners_->mutex);
  const auto at = listeners_->by_name.emplace(name, std::move(told));
  if (listeners_->watched) at->second.watched();
  return Subscription(std::shared_ptr<void>(nullptr, [listeners = listeners_, at](void*) {
    const std::lock_guard end(listeners->mutex);
    listeners->by_name.erase(at);
  }));
}

bool SecretWatch::tells() const {
  const auto secrets = secrets_.lock();
  return secrets && secrets->synced() && !secrets->last_error();
}

}  // namespace fleetadm::agent
