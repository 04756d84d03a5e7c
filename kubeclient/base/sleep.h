// A wait that a stop ends.
#pragma once

#include <stop_token>

#include "kubeclient/base/clock.h"

namespace fleetadm {

/// Sleeps; false when the stop token ended it, or had been stopped before.
bool sleep_for(Duration delay, const std::stop_token& stop);

}  // namespace fleetadm
