// Where a work goes: named clusters, clusters by label, or a placement.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::commands {

struct TargetOptions {
  std::vector<std::string> clusters;
  std::string selector;
  std::string placement;  // "name" or "namespace/name"
};

void bind_targets(FlagSet& flags, TargetOptions& options);
/// --placement, and --cluster (of commands that only look).
Flag& placement_flag(FlagSet& flags, std::string* into, std::string help);
Flag& only_clusters_flag(FlagSet& flags, std::vector<std::string>& into);
/// Exactly one way of naming them.
Status validate_targets(const TargetOptions& options, const std::string& further = {});
/// NAME is an object name and short enough for the agent's.
Status validate_work_name(const std::string& name);

struct PlacementRef {
  std::string ns;
  std::string name;
};
Result<PlacementRef> placement_ref(Context& context, const std::string& text);
/// kNotFound with a hint where it is not on the hub.
Status placement_exists(const kube::Client& hub, const PlacementRef& ref);
/// The clusters that a placement has decided on, sorted; all of its PlacementDecisions are read.
std::vector<std::string> clusters_of(const std::vector<Json>& decisions);
Result<std::vector<std::string>> decided_clusters(const kube::Client& hub, const PlacementRef& placement);

struct ClusterTargets {
  std::vector<std::string> clusters;
  std::vector<Error> missing;  // named ones that do not exist
};
Result<ClusterTargets> cluster_targets(const kube::Client& hub, const TargetOptions& options);

/// Adds the hint that helps where the server has no such types at all.
Error on_hub(const Error& error);

/// A v1 List.
Json list_of(std::vector<Json> items);

}  // namespace fleetadm::commands
