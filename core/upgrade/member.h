// Where one cluster is in an upgrade of the fleet's agents, read from its ManagedCluster and its work. Pure.
#pragma once

#include <optional>
#include <string>

#include "core/rollout/types.h"
#include "kubeclient/base/json.h"

namespace fleetadm::upgrade {

/// What a cluster is to be changed to.
struct WantedAgent {
  std::string version;        // empty: not known, then nobody has to tell it
  std::string workload_hash;  // of the work
  bool tells = true;          // an agent of this version tells it
  bool any_image = true;      // an agent that tells the version is up to date, wherever its image comes from
};

struct Member {
  rollout::State state = rollout::State::kToApply;
  std::optional<Instant> since;
  std::string why;        // in words; empty where it has succeeded or not begun
  bool finished = false;  // the new agent runs: its work has done what it is for
};

/// `finished_at`: when `finished` was first seen, by whoever upgrades. A cluster has succeeded once its work is gone after that:
/// only an agent that runs can have released it. Without it, where its agent tells the version that is wanted.
Member judge_member(const Json& cluster, const std::optional<Json>& work, const WantedAgent& wanted,
                    const std::optional<Instant>& finished_at, Instant now);

/// Of a ManifestWork's manifests; what the server adds to the rest of its spec does not count.
std::string workload_hash(const Json& work);

/// The cluster's condition ManagedClusterConditionAvailable is True.
bool is_available(const Json& cluster);

}  // namespace fleetadm::upgrade
