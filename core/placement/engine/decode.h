// Kubernetes objects as the scheduler's values. Fields that no pass reads are not kept; wrongly typed ones count as absent.
#pragma once

#include "core/placement/engine/types.h"

namespace fleetadm::placement {

Cluster decode_cluster(const Json& object);
Set decode_set(const Json& object);
Binding decode_binding(const Json& object);
Decision decode_decision(const Json& object);
Score decode_score(const Json& object);
Placement decode_placement(const Json& object);
Labels labels_of(const Json& object);

inline constexpr std::string_view kGroupIndexLabel = "cluster.open-cluster-management.io/decision-group-index";
inline constexpr std::string_view kGroupNameLabel = "cluster.open-cluster-management.io/decision-group-name";
inline constexpr std::string_view kDisableAnnotation = "cluster.open-cluster-management.io/experimental-scheduling-disable";
inline constexpr std::string_view kExclusiveSelector = "ExclusiveClusterSetLabel";
inline constexpr std::string_view kLabelSelector = "LabelSelector";

}  // namespace fleetadm::placement
