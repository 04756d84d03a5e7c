// The function libraries of the environments that Open Cluster Management evaluates CEL in (docs/reference/cel.md#environments,
// docs/reference/work.md#condition-rules). Calls of Kubernetes' libraries cost 1 each: upstream's estimator hides their cost
// table.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cel/library.h"

namespace fleetadm::cel {

/// cel-go's extension, all versions: charAt, format, indexOf, join, lastIndexOf, lowerAscii, replace, reverse, split, substring,
/// trim, upperAscii, strings.quote.
Library strings_library();
/// isSorted, sum, min, max, indexOf, lastIndexOf.
Library lists_library();
/// find, findAll.
Library regex_library();
/// url, isURL, getScheme, getHost, getHostname, getPort, getEscapedPath, getQuery.
Library urls_library();
/// quantity, isQuantity, sign, isInteger, asInteger, asApproximateFloat, add, sub, compareTo, isLessThan, isGreaterThan.
Library quantity_library();
/// ip, isIP, ip.isCanonical, family, isUnspecified, isLoopback, isLinkLocalMulticast, isLinkLocalUnicast, isGlobalUnicast.
Library ip_library();
/// cidr, isCIDR, containsIP, containsCIDR, ip, prefixLength, masked.
Library cidr_library();
/// format.named, format.<name>, validate.
Library format_library();
/// semver, isSemver, major, minor, patch, compareTo, isLessThan, isGreaterThan.
Library semver_library();
/// sets.contains, sets.equivalent, sets.intersects: of admission policies and CRDs, not of Open Cluster Management's
/// environments.
Library sets_library();

/// parseJSON, a member of strings.
Library json_library();
/// hasConditions.
Library conditions_library();
/// The variable managedCluster and the member scores, which asks the ScoreSource that the evaluation was given as its host.
Library managed_cluster_library();

/// Where scores() looks.
class ScoreSource : public Host {
 public:
  using Items = std::vector<std::pair<std::string, std::int64_t>>;  // name, value
  /// The items of an AddOnPlacementScore in the cluster's namespace, or nullptr where there is no such object.
  virtual const Items* scores(std::string_view cluster, std::string_view name) const = 0;
  const ScoreSource* score_source() const final { return this; }
};

}  // namespace fleetadm::cel
