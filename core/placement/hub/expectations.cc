#include "core/placement/hub/expectations.h"

#include <algorithm>

namespace fleetadm::placement {

void Expectations::note(const std::string& key, const Superseded& versions, Time now) {
  if (versions.empty()) return;
  const std::lock_guard lock(mutex_);
  Awaited& awaited = awaited_[key];
  awaited.since = now;
  for (const auto& [name, replaced] : versions) awaited.versions[name].insert(replaced.begin(), replaced.end());
}

bool Expectations::seen(const std::string& key, const std::function<std::string(const std::string& name)>& cached, Time now) {
  const std::lock_guard lock(mutex_);
  const auto it = awaited_.find(key);
  if (it == awaited_.end()) return true;
  const auto behind = [&](const auto& entry) { return entry.second.contains(cached(entry.first)); };
  if (now - it->second.since < kPatience && std::any_of(it->second.versions.begin(), it->second.versions.end(), behind))
    return false;
  awaited_.erase(it);
  return true;
}

void Expectations::forget(const std::string& key) {
  const std::lock_guard lock(mutex_);
  awaited_.erase(key);
}

}  // namespace fleetadm::placement
