// The hops of `certs check` as a report.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/report.h"
#include "core/registration/expiry/hop.h"

namespace fleetadm::commands {

/// Kind CertificateReport; the exit code is 1 where something has to be done.
Report certificate_report(const std::vector<registration::expiry::Hop>& hops, Instant now);

}  // namespace fleetadm::commands
