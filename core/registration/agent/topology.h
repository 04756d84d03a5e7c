// Where a member runs, as its nodes say: claims of the cluster, and labels by which placements and sets can select it.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/registration/agent/claims.h"
#include "kubeclient/base/json.h"
#include "kubeclient/rest/client.h"
#include "kubeclient/watch/mutation_cache.h"

namespace fleetadm::registration::agent {

inline constexpr std::string_view kProviderClaim = "provider.fleetadm.io";
inline constexpr std::string_view kRegionClaim = "region.fleetadm.io";
inline constexpr std::string_view kZonesClaim = "zones.fleetadm.io";  // "a,b"
inline constexpr std::string_view kProviderLabel = "fleetadm.io/provider";
inline constexpr std::string_view kRegionLabel = "topology.kubernetes.io/region";
inline constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";  // of nodes too; of a cluster in one zone alone

/// project_counted_node(), and where the node is.
void project_placed_node(Json& node);

/// Adds to a projected Node what its labels and its providerID ("aws:///eu-west-1a/i-0", of which "aws" counts) say.
void project_topology(const Json& node, Json& projected);

struct Topology {
  std::set<std::string> providers;
  std::set<std::string> regions;
  std::set<std::string> zones;
};
/// Of a projected node. Values that cannot be labels are left out.
void add_node(const Json& node, Topology& topology);

/// Adds its claims, several values of one with commas, where the member does not make these claims itself.
void add_topology_claims(const Topology& topology, std::vector<Claim>& claims);

/// The labels to be written: those whose claim changes, where the label is not there or has the value of the claim before. Null:
/// none. What a person has set or taken away is left so.
Json changed_labels(const Json& cluster, const Topology& topology);
/// Writes them, which comes before the claims by which they are known as ours, and answers the cluster as it is then. kConflict:
/// it is another meanwhile. What was written is noted in `written`.
Result<Json> write_labels(const kube::Client& hub, const Json& cluster, const Topology& topology, kube::MutationCache& written);

}  // namespace fleetadm::registration::agent
