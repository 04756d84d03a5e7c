// Who an agent is on its hub: the cluster's name and the agent's ID (docs/reference/registration.md#identity). Both are kept
// from the first start on, because people approve a certificate request by its common name and a second one would confuse them.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/result.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::registration::agent {

struct Identity {
  std::string cluster;
  std::string agent;
  bool operator==(const Identity&) const = default;
};

/// "system:open-cluster-management:<cluster>:<agent>".
std::string common_name(const Identity& identity);
/// The subject of the agent's client certificate: the common name and the two organizations.
pki::Subject subject_of(const Identity& identity);
/// The same common name, and the same sets of organizations and units (their order and repetition mean nothing).
bool same_subject(const pki::Subject& a, const pki::Subject& b);

/// For each part: what flags say, else what was stored, else a fresh random one. Category::kUsage for a cluster name that is no
/// DNS label and for an agent ID that could not stand in a common name.
Result<Identity> choose_identity(const Identity& flags, const Identity& stored);

}  // namespace fleetadm::registration::agent
