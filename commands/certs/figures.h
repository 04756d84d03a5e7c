// The hops of `certs check` as a report, and as figures for Prometheus.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/report.h"
#include "core/registration/expiry/hop.h"

namespace fleetadm::commands {

/// Kind CertificateReport; the exit code is 1 where something has to be done.
Report certificate_report(const std::vector<registration::expiry::Hop>& hops, Instant now);

/// Lines in Prometheus' text format: fleetadm_expiration_timestamp_seconds (of what has an end) and fleetadm_expiration_ok (0 or
/// 1, of what counts and can be seen), each by cluster and hop.
std::vector<std::string> figures(const std::vector<registration::expiry::Hop>& hops);

}  // namespace fleetadm::commands
