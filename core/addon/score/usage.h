// What a cluster has free, and the scores that say so to placements (docs/reference/addon.md#scores). Pure.
#pragma once

#include <optional>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::addon {

struct Resources {
  double cpu = 0;     // cores
  double memory = 0;  // bytes

  bool operator==(const Resources&) const = default;
};

/// From these amounts on a score is 100: an agent sees one cluster alone, and has to assume a most.
inline constexpr Resources kMostFree{100, 1024.0 * 1024 * 1024 * 1024};

/// What a node offers to pods. Nothing while it takes none.
Resources offered_by(const Json& node);
/// What a pod holds: the requests of its containers that run together, or of its largest init container, and its overhead.
/// Nothing before it has a node, and once it has ended.
Resources held_by(const Json& pod);
/// Of the NodeMetrics of metrics.k8s.io.
Resources used_by(const Json& node_metrics);

/// 100 × free / most without its fraction; 100 from `most` on, and -100 where nothing is free.
std::int64_t free_score(double free, double most);

struct ScoreOptions {
  Resources most = kMostFree;
  Duration refresh = std::chrono::seconds(60);
};
/// The status of an AddOnPlacementScore. It is valid for three refreshes: one that fails is not noticed.
Json score_status(const Resources& free, const ScoreOptions& options, Instant now);
/// The published status says something else than `wanted`, or was due to be refreshed.
bool is_stale(const Json& published, const Json& wanted, const ScoreOptions& options, Instant now);

}  // namespace fleetadm::addon
