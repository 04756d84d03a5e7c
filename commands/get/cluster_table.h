// The rows of `get clusters`. A fleet of more than a page is asked for as the server prints it
// (docs/reference/kubernetes-api.md#tables: Table, includeObject=None): a sixth of the time of reading the objects, whose
// managedFields alone are most of a long list. The set, which is a label and no column, is known because each set is asked for
// by itself, all of them at one resourceVersion.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

/// How many clusters are read as objects in one answer before the server's table is the cheaper one.
inline constexpr std::int64_t kFewClusters = 100;

/// The cells of cluster_view() for all clusters that match, by name; the wide ones may be empty. nullopt: only a list of the
/// objects can tell (a server or definition without these columns, sets that may not be read, more sets than are worth a
/// request each, labels of sets that do not exist, changes meanwhile).
Result<std::optional<std::vector<std::vector<std::string>>>> narrow_clusters(const kube::Client& hub, const std::string& selector,
                                                                             Instant now, std::int64_t few = kFewClusters);

}  // namespace fleetadm::commands
