// Where an add-on's AddOnDeploymentConfig is named: by default, for a placement, for a cluster. The more special one replaces the
// other as a whole.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/addon_change.h"

namespace fleetadm::commands {

struct LevelOptions {
  std::string placement;
  std::vector<std::string> clusters;
};
/// --placement and --clusters.
void bind_config_level(FlagSet& flags, LevelOptions& options);
Status validate_config_level(const LevelOptions& options);

/// One place. Without a placement and a cluster: the default.
struct ConfigLevel {
  std::string placement;  // "namespace/name"
  std::string cluster;

  std::string text() const;  // "the default", "placement apps/eu", "cluster c1"
};
/// kNotFound: the add-on is not installed by that placement, or not on that cluster.
Result<std::vector<ConfigLevel>> config_levels(Context& context, const addon::AddonRolloutObjects& read, const std::string& name,
                                               const LevelOptions& options);

/// The AddOnDeploymentConfig that is named there itself; nullopt: none.
std::optional<addon::ConfigKey> own_config(const addon::AddonRolloutObjects& read, const std::string& name,
                                           const ConfigLevel& level);
/// The one that takes effect there.
std::optional<addon::ConfigKey> effective_config(const addon::AddonRolloutObjects& read, const std::string& name,
                                                 const ConfigLevel& level);

}  // namespace fleetadm::commands
