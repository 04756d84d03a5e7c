#include "commands/addon/config_levels.h"

#include <algorithm>

#include "commands/framework/grammar.h"
#include "commands/framework/targets.h"
#include "commands/framework/write_report.h"

namespace fleetadm::commands {
namespace {

/// The first of the type.
std::optional<addon::ConfigKey> config_in(const Json& entries) {
  for (const Json& entry : entries) {
    addon::ConfigKey key = addon::config_key(entry);
    if (key.type == addon::addon_deployment_configs() && !key.name.empty() && key.name != addon::kNoDefaultName) return key;
  }
  return std::nullopt;
}

const Json* placement_in(const Json& declaration, const std::string& placement) {
  for (const Json& one : list_at(declaration, {"spec", "installStrategy", "placements"})) {
    if (str(one, {"namespace"}) + "/" + str(one, {"name"}) == placement) return &one;
  }
  return nullptr;
}

/// The placement that the add-on of a cluster belongs to: the last that selects it.
std::string placement_selecting(const addon::AddonRolloutObjects& read, const Json& declaration, const std::string& cluster) {
  std::string found;
  for (const Json& one : list_at(declaration, {"spec", "installStrategy", "placements"})) {
    const std::string ns = str(one, {"namespace"});
    std::vector<Json> decisions;
    for (const addon::ObjectPtr& decision : read.objects.list(addon::placement_decisions(), ns)) {
      if (label_of(*decision, "cluster.open-cluster-management.io/placement") == str(one, {"name"}))
        decisions.push_back(*decision);
    }
    const std::vector<std::string> clusters = clusters_of(decisions);
    if (std::find(clusters.begin(), clusters.end(), cluster) != clusters.end()) found = ns + "/" + str(one, {"name"});
  }
  return found;
}

}  // namespace

void bind_config_level(FlagSet& flags, LevelOptions& options) {
  placement_flag(flags, &options.placement, "of the clusters of this placement of the add-on (default: the add-on's default)");
  clusters_flag(flags, &options.clusters, "of the add-on on these clusters");
}

Status validate_config_level(const LevelOptions& options) {
  if (!options.placement.empty() && !options.clusters.empty())
    return fail(Category::kUsage, "--placement and --clusters exclude each other");
  for (const std::string& cluster : options.clusters) FLEETADM_CHECK(check_name("cluster", cluster));
  return {};
}

std::string ConfigLevel::text() const {
  if (!cluster.empty()) return "cluster " + cluster;
  return placement.empty() ? "the default" : "placement " + placement;
}

Result<std::vector<ConfigLevel>> config_levels(Context& context, const addon::AddonRolloutObjects& read, const std::string& name,
                                               const LevelOptions& options) {
  std::vector<ConfigLevel> levels;
  if (!options.placement.empty()) {
    FLEETADM_TRY(const PlacementRef ref, placement_ref(context, options.placement));
    levels.push_back({ref.ns + "/" + ref.name, {}});
    if (placement_in(*read.declaration(name), levels.back().placement) == nullptr) {
      return fail(Category::kNotFound, "add-on \"" + name + "\" is not installed by placement " + levels.back().placement,
                  "see its placements with: fleetadm addon describe " + name);
    }
  }
  for (const std::string& cluster : options.clusters) {
    if (read.objects.get(addon::managed_cluster_addons(), cluster, name) == nullptr) {
      return fail(Category::kNotFound, "add-on \"" + name + "\" is not on cluster \"" + cluster + "\"",
                  "enable it with: fleetadm addon enable " + name + " --clusters " + cluster);
    }
    levels.push_back({{}, cluster});
  }
  if (levels.empty()) levels.push_back({});
  return levels;
}

std::optional<addon::ConfigKey> own_config(const addon::AddonRolloutObjects& read, const std::string& name,
                                           const ConfigLevel& level) {
  const addon::ObjectPtr declaration = read.declaration(name);
  if (!level.cluster.empty()) {
    const addon::ObjectPtr own = read.objects.get(addon::managed_cluster_addons(), level.cluster, name);
    return own ? config_in(list_at(*own, {"spec", "configs"})) : std::nullopt;
  }
  if (level.placement.empty()) return config_in(list_at(*declaration, {"spec", "defaultConfigs"}));
  const Json* placement = placement_in(*declaration, level.placement);
  return placement == nullptr ? std::nullopt : config_in(list_at(*placement, {"configs"}));
}

std::optional<addon::ConfigKey> effective_config(const addon::AddonRolloutObjects& read, const std::string& name,
                                                 const ConfigLevel& level) {
  if (auto own = own_config(read, name, level)) return own;
  if (!level.cluster.empty()) {
    const std::string placement = placement_selecting(read, *read.declaration(name), level.cluster);
    return placement.empty() ? own_config(read, name, {}) : effective_config(read, name, {placement, {}});
  }
  return level.placement.empty() ? std::nullopt : own_config(read, name, {});
}

}  // namespace fleetadm::commands
