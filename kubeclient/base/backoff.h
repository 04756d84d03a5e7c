// Waits between tries that grow, and periods that differ a little, so that many waiters do not come at once.
#pragma once

#include <chrono>

#include "kubeclient/base/clock.h"

namespace fleetadm {

/// `first`, doubled for every try after the first, `longest` at most. `tries` below 1 counts as 1.
Duration backoff_delay(Duration first, Duration longest, int tries);

/// Uniform in [0, 1). Thread-safe.
double random_share();
/// The period and up to `share` of it more.
Duration jittered(Duration period, double share);

/// The delays of one row of failures.
class Backoff {
 public:
  /// `jitter`: the share of a delay that is added to it at most.
  Backoff(Duration first, Duration longest, double jitter = 0) : first_(first), longest_(longest), jitter_(jitter) {}

  Duration next() { return jittered(backoff_delay(first_, longest_, ++tries_), jitter_); }
  void reset() { tries_ = 0; }

 private:
  Duration first_;
  Duration longest_;
  double jitter_;
  int tries_ = 0;
};

}  // namespace fleetadm
