#include "core/sandbox/quota/pending.h"

#include <utility>

namespace fleetadm::sandbox::quota {

void PendingWrites::forget_old() {
  const auto now = Steady::now();
  std::erase_if(writes_, [&](const auto& one) { return now - one.second.at > patience_; });
}

void PendingWrites::charge(const Write& write, const std::string& quota, Amounts amounts) {
  const std::lock_guard lock(mutex_);
  forget_old();
  auto& charges = writes_[write];
  charges.at = Steady::now();
  charges.by_quota[quota] = std::move(amounts);
}

void PendingWrites::done(const Write& write) {
  const std::lock_guard lock(mutex_);
  writes_.erase(write);
}

Amounts PendingWrites::of(const std::string& ns, const std::string& quota) {
  const std::lock_guard lock(mutex_);
  forget_old();
  Amounts out;
  for (auto at = writes_.lower_bound(Write{ns, {}, {}}); at != writes_.end() && at->first.ns == ns; ++at) {
    const auto charged = at->second.by_quota.find(quota);
    if (charged == at->second.by_quota.end()) continue;
    for (const auto& [name, amount] : charged->second) out[name] += amount;
  }
  return out;
}

}  // namespace fleetadm::sandbox::quota
