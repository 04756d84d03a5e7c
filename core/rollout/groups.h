// The decision groups of a placement, as the engine walks them.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "core/rollout/types.h"

namespace fleetadm::rollout {

struct MemberOrder {
  bool operator()(const GroupKey& a, const GroupKey& b) const { return a.index != b.index ? a.index < b.index : a.name < b.name; }
};

/// Groups by ascending index; members by name.
using GroupMap = std::map<GroupKey, std::set<std::string>, MemberOrder>;

/// Groups with equal keys are united. Upstream counts the distinct indexes and looks at 0…count-1 only: what lies behind a gap is
/// not seen (kUpstream); it knows one name an index.
GroupMap visible_groups(const std::vector<Group>& groups, Semantics conduct);

struct Split {
  GroupMap mandatory;
  GroupMap others;
};
/// A name selects every index of it; an entry without a name its index; what does not exist selects nothing.
Split split_groups(const GroupMap& groups, const std::vector<GroupRef>& mandatory);

std::map<std::string, GroupKey> cluster_groups(const GroupMap& groups);
std::int64_t cluster_count(const GroupMap& groups);

}  // namespace fleetadm::rollout
