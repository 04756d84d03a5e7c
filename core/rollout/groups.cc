#include "core/rollout/groups.h"

#include <algorithm>

namespace fleetadm::rollout {

GroupMap visible_groups(const std::vector<Group>& groups, Semantics conduct) {
  GroupMap all;
  std::map<int, std::string> name_of_index;
  for (const Group& group : groups) {
    all[group.key].insert(group.clusters.begin(), group.clusters.end());
    name_of_index[group.key.index] = group.key.name;
  }
  if (conduct == Semantics::kStrict) return all;
  GroupMap visible;
  const int count = static_cast<int>(name_of_index.size());
  for (const auto& [index, name] : name_of_index) {
    if (index < 0 || index >= count) continue;
    const GroupKey key{name, index};
    visible[key] = all.at(key);
  }
  return visible;
}

Split split_groups(const GroupMap& groups, const std::vector<GroupRef>& mandatory) {
  Split split;
  for (const auto& [key, clusters] : groups) {
    const bool chosen = std::any_of(mandatory.begin(), mandatory.end(), [&](const GroupRef& ref) {
      return ref.name.empty() ? ref.index == key.index : ref.name == key.name;
    });
    (chosen ? split.mandatory : split.others).emplace(key, clusters);
  }
  return split;
}

std::map<std::string, GroupKey> cluster_groups(const GroupMap& groups) {
  std::map<std::string, GroupKey> keys;
  for (const auto& [key, clusters] : groups) {
    for (const std::string& cluster : clusters) keys.emplace(cluster, key);
  }
  return keys;
}

std::int64_t cluster_count(const GroupMap& groups) {
  std::set<std::string> names;
  for (const auto& [key, clusters] : groups) names.insert(clusters.begin(), clusters.end());
  return static_cast<std::int64_t>(names.size());
}

}  // namespace fleetadm::rollout
