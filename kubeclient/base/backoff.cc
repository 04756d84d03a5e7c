#include "kubeclient/base/backoff.h"

#include <algorithm>
#include <random>

namespace fleetadm {

Duration backoff_delay(Duration first, Duration longest, int tries) {
  Duration delay = first;
  for (int i = 1; i < tries && delay > Duration::zero() && delay < longest; ++i)
    delay = delay > longest / 2 ? longest : delay * 2;
  return std::min(delay, longest);
}

double random_share() {
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_real_distribution<double>(0.0, 1.0)(random);
}

Duration jittered(Duration period, double share) {
  if (share <= 0) return period;
  return period + Duration(static_cast<Duration::rep>(static_cast<double>(period.count()) * share * random_share()));
}

}  // namespace fleetadm
