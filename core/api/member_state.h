// What the ManagedCluster of a member tells beside what upstream's agents tell: how it is a member, its nodes, what its pods
// hold.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/api/hosted_member.h"
#include "core/api/push_member.h"

namespace fleetadm::api {

/// In status.capacity, where OCM's agents leave the keys of others alone.
inline constexpr std::string_view kNodesPrefix = "nodes.fleetadm.io/";            // total, ready
inline constexpr std::string_view kAllocatedPrefix = "allocated.fleetadm.io/";    // what pods on nodes hold
inline constexpr std::string_view kAllocatingPrefix = "allocating.fleetadm.io/";  // what pods without a node wait for

/// "push": the hub dials it; "hosted": its agent runs on another cluster; "pull": it has an agent of its own.
inline std::string_view mode_of(const Json& cluster) {
  if (is_push_member(cluster)) return kPushMode;
  return hosted_by(cluster).empty() ? "pull" : "hosted";
}

/// The figures with the prefix, by what follows it.
inline std::map<std::string, std::string> figures_of(const Json& cluster, std::string_view prefix) {
  std::map<std::string, std::string> figures;
  for (const auto& [key, value] : strings_at(cluster, {"status", "capacity"})) {
    if (key.starts_with(prefix)) figures.emplace(key.substr(prefix.size()), value);
  }
  return figures;
}

/// Whether a key of status.capacity is one of these figures, and no amount of a resource.
inline bool is_figure(std::string_view key) {
  return key.starts_with(kNodesPrefix) || key.starts_with(kAllocatedPrefix) || key.starts_with(kAllocatingPrefix);
}

}  // namespace fleetadm::api
