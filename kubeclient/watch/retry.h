// When those who wait by blocking watches try again.
#pragma once

#include "kubeclient/base/backoff.h"
#include "kubeclient/base/result.h"

namespace fleetadm::kube {

/// A failure that time may heal.
inline bool passing(const Error& error) {
  return error.category == Category::kUnavailable || error.category == Category::kTimeout || error.category == Category::kGone;
}

/// Between tries of what failed.
inline Backoff retry_delays() { return {std::chrono::milliseconds(100), std::chrono::seconds(5)}; }

}  // namespace fleetadm::kube
