// Taking a hosted member out of its fleet: its Secrets on the hosting cluster, what join installed on the member, and with the
// last member the program. Each step is found again by what is left, so a killed departure is finished by a second run. The hub's
// side is that of every cluster (unjoin.h).
#pragma once

#include <string>
#include <vector>

#include "core/registration/join/unjoin.h"

namespace fleetadm::join {

/// Deletes the member's Secret, which ends its agent, and its bootstrap Secrets.
Result<std::vector<install::Change>> leave_hosting(const kube::Client& hosting, const std::string& ns,
                                                   const DepartureOptions& options);

/// Removes what the agent applied and what was installed for it from the member. kConflict while AppliedManifestWorks are left,
/// unless forced.
Result<std::vector<install::Change>> leave_on_member(const kube::Client& member, const DepartureOptions& options);

/// The Helm release that the program belongs to; empty: to none.
Result<std::string> release_of_program(const kube::Client& hosting, const std::string& ns);

/// Deletes the member's credential, and where no member is left in the namespace the program and all that was installed for it,
/// unless that is a Helm release's.
Result<std::vector<install::Change>> finish_hosting(const kube::Client& hosting, const std::string& ns,
                                                    const DepartureOptions& options);

}  // namespace fleetadm::join
