// Why an add-on is (not) available on a cluster: the links between its declaration and the health of its agent, in the order in
// which they come about. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::commands {

/// What the hub has about one add-on on one cluster (v1alpha1 of the add-on types). Null: there is no such object.
struct AddonFacts {
  std::string addon;
  std::string cluster;
  Json declaration;                        // ClusterManagementAddOn
  Json managed_cluster;                    // ManagedCluster
  std::vector<std::string> selected_by;    // "namespace/name" of the strategy's placements whose decisions have the cluster
  Json managed_addon;                      // ManagedClusterAddOn
  std::optional<std::string> no_template;  // the AddOnTemplate that it is configured with and that does not exist
  std::vector<Json> requests;              // its CertificateSigningRequests
  std::vector<Json> works;                 // its ManifestWorks
};

struct Link {
  enum class State { kHolds, kWaits, kBroken };
  /// "declaration", "cluster", "installation", "configuration", "template", "registration", "works", "health".
  std::string_view name;
  State state = State::kHolds;
  std::string text;  // what is so, or why not
  std::string next;  // of a broken link: the command that helps; may be empty
};
std::string_view to_string(Link::State state);

/// The links up to the first that does not hold; those after it cannot be judged before it does.
std::vector<Link> addon_chain(const AddonFacts& facts);

}  // namespace fleetadm::commands
