// What the commands that edit ManagedClusters share: which clusters are meant, the guard, the write and reading it back.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "commands/framework/guard.h"

namespace fleetadm::commands {

struct ClusterSelection {
  std::vector<std::string> names;
  std::string selector;
  bool all = false;
};

/// -l and --all; names are arguments.
void bind_cluster_selection(FlagSet& flags, ClusterSelection& selection);
/// kUsage: not exactly one of names, -l and --all, or a name that cannot be a cluster's.
Status validate_cluster_selection(const ClusterSelection& selection);

/// Where what follows the clusters has no form of its own: clusters are the first argument, with commas between them, unless they
/// are selected by -l or --all. Answers the other arguments.
std::vector<std::string> take_cluster_names(ClusterSelection& selection, const std::vector<std::string>& args);

struct ClusterEdit {
  std::string what;  // for the guard, before the clusters' names: "labeling"
  std::string done;  // the outcome: "labeled"
  /// Edits the object as asked. An error is of this cluster alone; kConflict: it is not to be overwritten.
  std::function<Status(Json& cluster)> edit;
  /// What the hub's controllers make of it later and placements react to; may be empty.
  std::function<void(Json& cluster)> consequence;
};

/// What an edit of the selected clusters takes away: what the guard goes by, and `every_placement` that would move.
Result<work::Impact> impact_of_edit(Context& context, const ClusterSelection& selection, const ClusterEdit& edit,
                                    bool every_placement);

/// The clusters in a report of edit_clusters().
std::vector<std::string> edited_names(const Report& report);

/// Edits each cluster and reads it back; one that already is as asked is "unchanged". A List of ManagedClusters, or the one.
Result<Report> edit_clusters(Context& context, const ClusterSelection& selection, const GuardOptions& guard,
                             const ClusterEdit& edit);

}  // namespace fleetadm::commands
