// Decision groups and PlacementDecisions (docs/reference/placement.md#decision-groups, docs/reference/placement.md#decisions).
#include <algorithm>
#include <cmath>

#include "core/placement/engine/stages.h"
#include "kubeclient/base/go_numbers.h"

namespace fleetadm::placement {
namespace {

struct Group {
  std::string name;
  std::vector<Slot> clusters;
};

void cut(const std::string& name, const std::vector<Slot>& members, std::int64_t length, std::vector<Group>& into) {
  if (length <= 0) return;
  const auto size = static_cast<std::size_t>(length);
  for (std::size_t at = 0; at < members.size(); at += size) {
    const std::size_t end = std::min(at + size, members.size());
    into.push_back(
        {name, {members.begin() + static_cast<std::ptrdiff_t>(at), members.begin() + static_cast<std::ptrdiff_t>(end)}});
  }
}

Verdict make_groups(const PassContext& context, const std::vector<Slot>& selected, std::vector<Group>& groups) {
  const Placement& placement = context.placement;
  const auto length = group_length(placement.group_size, static_cast<std::int64_t>(selected.size()));
  if (!length) return {Code::kMisconfigured, {}, *placement.group_size.text + " invalid type: string is not a percentage"};
  std::vector<Slot> remaining = selected;
  const std::vector<std::uint32_t>& ranks = context.world.ranks();
  std::sort(remaining.begin(), remaining.end(), [&](Slot a, Slot b) { return ranks[a] < ranks[b]; });
  for (const DecisionGroup& group : placement.groups) {
    if (!group.labels.error().empty()) return {Code::kMisconfigured, {}, group.labels.error()};
    if (!group.claims.error().empty()) return {Code::kMisconfigured, {}, group.claims.error()};
    std::vector<std::uint8_t> flags(remaining.size(), 1);
    context.world.match(group.labels, group.claims, remaining, flags);
    std::vector<Slot> members;
    std::vector<Slot> rest;
    for (std::size_t i = 0; i < flags.size(); ++i) (flags[i] != 0 ? members : rest).push_back(remaining[i]);
    cut(group.name, members, *length, groups);
    remaining = std::move(rest);
  }
  cut({}, remaining, *length, groups);
  if (groups.empty()) groups.emplace_back();
  return {};
}

}  // namespace

std::optional<std::int64_t> group_length(const GroupSize& size, std::int64_t total) {
  std::int64_t length = size.number;
  if (size.text) {
    if (size.text->empty() || size.text->back() != '%') return std::nullopt;
    const auto percent = parse_go_float(std::string_view(*size.text).substr(0, size.text->size() - 1));
    if (!percent) return std::nullopt;
    length = truncate(std::ceil(*percent / 100 * static_cast<double>(total)));
  }
  return length <= 0 || length > total ? total : length;
}

Verdict group_decisions(const PassContext& context, const std::vector<Slot>& selected, Pass& pass) {
  std::vector<Group> groups;
  Verdict verdict = make_groups(context, selected, groups);
  int counter = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Group& group = groups[i];
    const int index = static_cast<int>(i);
    GroupStatus status{index, group.name, {}, static_cast<std::int64_t>(group.clusters.size())};
    std::size_t at = 0;
    do {  // an empty group has one empty object
      WantedDecision wanted{context.placement.name + "-decision-" + std::to_string(++counter), group.name, index, {}};
      const std::size_t end = std::min(at + kDecisionsPerObject, group.clusters.size());
      wanted.clusters.reserve(end - at);
      for (; at < end; ++at) wanted.clusters.push_back(context.world.name_of(group.clusters[at]));
      status.decisions.push_back(wanted.name);
      pass.decisions.push_back(std::move(wanted));
    } while (at < group.clusters.size());
    pass.groups.push_back(std::move(status));
  }
  return verdict;
}

}  // namespace fleetadm::placement
