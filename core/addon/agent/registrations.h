// What a ManagedClusterAddOn tells the agent of its cluster to obtain, and where to keep it
// (docs/reference/addon.md#registration). Objects are v1alpha1, which every hub serves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::addon::agent {

/// Of the name of the Secret that holds a request until it is answered.
inline constexpr std::string_view kRequestSuffix = "-request";

struct Registration {
  bool kube_client = false;  // with the hub's API, else with `signer`
  std::string signer;
  pki::Subject subject;
  std::string secret;  // the name of the credential's Secret
};

/// `agent`: stands in the user where the hub names no other. Entries without a signer are left out.
std::vector<Registration> registrations_of(const Json& addon, const std::string& agent);

/// Where the add-on's credentials and its lease are: status.namespace, else the install namespace, else the default.
std::string addon_namespace(const Json& addon);

/// A Secret in this namespace holds a credential (or the request for one) that the add-on had, and has no registration for any
/// more, or in another namespace. Not as long as the hub names no registration at all.
bool is_outlived(const Json& addon, const std::string& agent, const std::string& ns, const std::string& secret);

/// The add-on reports itself by a lease, not by other means.
bool reports_by_lease(const Json& addon);

/// Writes how this agent authenticates add-ons into the status where they register with the hub's API, and for tokens as whom.
/// True where anything changed.
bool publish_driver(Json& addon, const std::string& driver);

}  // namespace fleetadm::addon::agent
