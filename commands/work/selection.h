// Which works a NAME on the command line means: the works of that name on clusters, the parts that a large file was split into,
// or the works that a set of that name has made.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "commands/framework/targets.h"

namespace fleetadm::commands {

/// On each part of a work that was split (also on the first): the name it was asked for with.
inline constexpr std::string_view kSplitLabel = "work.fleetadm.io/split-of";
inline constexpr std::size_t kMaxSplitName = 63;  // a label's value

/// The selector of the parts of `name`; none where the name is too long to have any.
std::optional<kube::ListOptions> parts_named(const std::string& name);

struct WorkSelection {
  std::string name;
  kube::ListOptions which;          // lists exactly these works, over all namespaces
  std::vector<Json> sets;           // the ManifestWorkReplicaSets, where it is one (several: parts)
  std::vector<std::string> wanted;  // the clusters that the sets' placements have decided on, sorted
};

/// `clusters`: only these, empty: all. `placement`: the set of this placement's namespace and no other; else the set NAME of
/// `ns` where there is one, and otherwise the works of that name. Never an error because of no works.
Result<WorkSelection> select_works(const kube::Client& hub, const std::string& name, const std::string& ns,
                                   const std::optional<PlacementRef>& placement);

/// kNotFound, with the near names of works for these clusters.
Error no_such_work(const kube::Client& hub, const std::string& name, const std::vector<std::string>& clusters);

/// The works now, without those of other clusters where `clusters` names some; sorted by cluster and name.
Result<std::vector<Json>> list_works(const kube::Client& hub, const WorkSelection& selection,
                                     const std::vector<std::string>& clusters);

/// The works NAME and its parts, on all clusters; only on `clusters` where the works of all may not be listed. Works of sets that
/// happen to have the name are among them.
Result<std::vector<Json>> works_called(const kube::Client& hub, const std::string& name,
                                       const std::vector<std::string>& clusters);

/// The ManagedClusters by name; empty with a note in `notes` where they may not be read.
std::map<std::string, Json> clusters_by_name(const kube::Client& hub, std::vector<std::string>& notes);

}  // namespace fleetadm::commands
