#include "core/api/cluster_lease.h"

#include <algorithm>

namespace fleetadm::api {
namespace {

constexpr std::int64_t kDefaultSeconds = 60;
// The field is an int32 of seconds; five times that is more than a Duration's 292 years of nanoseconds hold.
constexpr std::int64_t kMaxSeconds = std::int64_t{10} * 365 * 24 * 3600;
constexpr int kGraceFactor = 5;

}  // namespace

Duration lease_period(const Json& managed_cluster) {
  const std::int64_t given = num(managed_cluster, {"spec", "leaseDurationSeconds"}, kDefaultSeconds);
  return std::chrono::seconds(given <= 0 ? kDefaultSeconds : std::min(given, kMaxSeconds));
}

Duration lease_grace(const Json& managed_cluster) { return kGraceFactor * lease_period(managed_cluster); }

}  // namespace fleetadm::api
