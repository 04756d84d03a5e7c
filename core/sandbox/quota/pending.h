// Writes that quotas have let through and that are not stored yet. A quota's status already counts them: to count the store's
// objects alone would give away again what they are about to take.
#pragma once

#include <chrono>
#include <compare>
#include <map>
#include <mutex>
#include <string>

#include "core/sandbox/quota/usage.h"

namespace fleetadm::sandbox::quota {

/// Any thread.
class PendingWrites {
 public:
  struct Write {
    std::string ns;
    std::string storage;
    std::string name;
    auto operator<=>(const Write&) const = default;
  };

  /// A write that stays away this long has failed: custom resources may wait half a minute for their conversion webhook.
  explicit PendingWrites(std::chrono::milliseconds patience = std::chrono::seconds(40)) : patience_(patience) {}

  /// Before the quota's status is: the write takes so much of it. Replaces what was said of the two.
  void charge(const Write& write, const std::string& quota, Amounts amounts);
  /// It is stored now, or was refused.
  void done(const Write& write);
  /// What all that are on their way take of a quota. Whoever adds this to what is stored asks for it after the quota was read,
  /// and before the objects are: what is stored meanwhile counts twice, until the quota is looked at again, never not at all.
  Amounts of(const std::string& ns, const std::string& quota);

 private:
  using Steady = std::chrono::steady_clock;
  struct Charges {
    Steady::time_point at;
    std::map<std::string, Amounts> by_quota;
  };
  void forget_old();

  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::map<Write, Charges> writes_;
};

}  // namespace fleetadm::sandbox::quota
