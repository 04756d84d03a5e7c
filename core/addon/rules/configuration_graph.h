// Which configurations each ManagedClusterAddOn of a declaration is to have, and where it stands
// (docs/reference/addon.md#roll-out): the default ones, those of the placement that it belongs to, its own.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/addon/rules/config_reference.h"
#include "core/rollout/strategy.h"

namespace fleetadm::addon {

struct AddonNode {
  ObjectPtr addon;
  DesiredConfigs desired;
  std::set<GroupResource> own;  // the types that its own specification decides
  rollout::ClusterState standing;
  /// kStrict: the first configuration that has no hash. The add-on keeps what it has.
  std::optional<ConfigKey> missing;
};

/// The default node has no placement and no strategy.
struct PlacementNode {
  std::string key;              // "namespace/name"
  std::size_t progression = 0;  // index in status.installProgressions
  /// kStrict: there is no progression yet; what belongs to the placement waits.
  bool waits = false;
  /// kStrict: the roll-out is paused, and no cluster begins with what it does not have yet.
  bool paused = false;
  rollout::Strategy strategy;
  std::vector<rollout::Group> groups;
  std::set<std::string> clusters;
  std::set<std::string> expected;  // clusters of it that no later placement took over
  DesiredConfigs desired;
  std::map<std::string, AddonNode> addons;  // by cluster
};

struct ConfigurationGraph {
  PlacementNode defaults;
  std::vector<PlacementNode> placements;  // as the status lists them
};

/// An error where a placement does not exist, its decisions or its strategy cannot be read: nothing can be decided then.
Result<ConfigurationGraph> make_graph(const ObjectReader& objects, const Json& declaration, const KnownTypes& known,
                                      rollout::Semantics conduct);

/// Whether the decisions and the strategy of an entry of spec.installStrategy.placements can be followed; else why not.
Status check_placement(const ObjectReader& objects, const Json& placement, rollout::Semantics conduct);

/// The entry of a placement among those of a list, by namespace and name: the last one, where there are several.
const Json* entry_of(const Json& list, const Json& placement);

/// What the rollout engine makes of a placement's add-ons now; of a paused one, only what has begun. kInvalid: its maxConcurrency
/// cannot be read.
Result<rollout::Step> step_of(const PlacementNode& node, Instant now, rollout::Semantics conduct);

}  // namespace fleetadm::addon
