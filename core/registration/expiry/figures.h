// Hops as figures for Prometheus: the same names wherever they come from.
#pragma once

#include <string>
#include <vector>

#include "core/registration/expiry/hop.h"

namespace fleetadm::registration::expiry {

/// Text exposition format 0.0.4: fleetadm_expiration_timestamp_seconds (of what has an end) and fleetadm_expiration_ok (0 or 1,
/// of what counts and can be seen), each by cluster and hop. The hops have been judged.
std::string figures(const std::vector<Hop>& hops);

}  // namespace fleetadm::registration::expiry
