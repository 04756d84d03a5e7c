// Namespaces that the cluster sets of a cluster want present on it (docs/reference/registration.md#managed-namespaces).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::registration::agent {

/// The label that marks a namespace as managed by one hub: made from the hub's address, as two hubs may share a cluster.
std::string managed_namespace_label(std::string_view hub_server);

struct NamespaceFailure {
  std::string name;
  std::string message;
};

/// Brings the spoke's namespaces in line with status.managedNamespaces: listed ones exist and carry the label "true", others that
/// carry it get "false". No namespace is ever deleted. The spoke is asked when the list changed, when something failed, and, for
/// listed ones, every ten minutes.
class ManagedNamespaces {
 public:
  ManagedNamespaces(kube::Client spoke, std::string_view hub_server);
  /// Which of the listed namespaces could not be applied. An Error: the spoke could not be asked for the labelled ones.
  Result<std::vector<NamespaceFailure>> apply(const Json& managed_cluster, Instant now);

 private:
  kube::Client spoke_;
  std::string label_;
  std::set<std::string> applied_;
  std::optional<Instant> checked_;
};

/// Sets the NamespaceAvailable condition in every entry of status.managedNamespaces.
void write_namespace_conditions(const std::vector<NamespaceFailure>& failures, Instant now, Json& status);

}  // namespace fleetadm::registration::agent
