#include "core/work/plan/impact.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "core/placement/engine/decode.h"
#include "core/work/rules/names.h"
#include "core/work/rules/replica_set_rules.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::work {
namespace {

using placement::Objects;
using Names = std::set<std::string>;
using Effect = LostWork::Effect;

constexpr std::size_t kNamesShown = 5;

std::vector<std::string> names_without(const Names& all, const Names& others) {
  std::vector<std::string> left;
  std::set_difference(all.begin(), all.end(), others.begin(), others.end(), std::back_inserter(left));
  return left;
}

Names decided_on(const Objects& objects, const Objects::Key& key) {
  Names names;
  for (const Json* decision : objects.decisions_of(key.first, key.second)) {
    for (std::string& cluster : placement::decode_decision(*decision).clusters) names.insert(std::move(cluster));
  }
  return names;
}

std::map<Objects::Key, Names> selected_in(const std::vector<placement::Simulated>& passes) {
  std::map<Objects::Key, Names> selected;
  for (const placement::Simulated& one : passes) {
    Names& names = selected[{one.ns, one.name}];
    names.insert(one.added.begin(), one.added.end());
    names.insert(one.kept.begin(), one.kept.end());
  }
  return selected;
}

/// What a set's placements together mean for its works, before or after.
struct Wanted {
  bool missing = false;  // a placement does not exist: the set does nothing
  Names clusters;
};

Wanted wanted_by(const Json& set, const std::map<Objects::Key, const SelectionChange*>& placements, bool after) {
  Wanted wanted;
  for (const Json& ref : list_at(set, {"spec", "placementRefs"})) {
    const auto found = placements.find({namespace_of(set), str(ref, {"name"})});
    if (found == placements.end() || !(after ? found->second->exists_after : found->second->exists_before)) {
      wanted.missing = true;
      continue;
    }
    const Names& names = after ? found->second->after : found->second->before;
    wanted.clusters.insert(names.begin(), names.end());
  }
  return wanted;
}

void sort_losses(std::vector<LostWork>& lost) {
  const auto key = [](const LostWork& one) { return std::tie(one.cluster, one.work); };
  std::stable_sort(lost.begin(), lost.end(), [&](const LostWork& a, const LostWork& b) { return key(a) < key(b); });
  lost.erase(std::unique(lost.begin(), lost.end(), [&](const LostWork& a, const LostWork& b) { return key(a) == key(b); }),
             lost.end());
}

std::string owner_of_work(const Json& work) {
  std::string owner = label_of(work, kReplicaSetLabel);
  if (const std::size_t dot = owner.find('.'); dot != std::string::npos) owner[dot] = '/';
  return owner;
}

}  // namespace

std::vector<std::string> SelectionChange::added() const { return names_without(after, before); }
std::vector<std::string> SelectionChange::removed() const { return names_without(before, after); }

std::string some_names(const Names& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() < kNamesShown) shown.push_back(name);
  }
  std::string text = joined(shown, ", ");
  if (names.size() > shown.size()) text += " and " + std::to_string(names.size() - shown.size()) + " more";
  return text;
}

std::string Impact::sentence() const {
  std::string text;
  for (const Effect effect : {Effect::kRemoved, Effect::kAbandoned}) {
    Names losers;
    Names works;
    for (const LostWork& one : lost) {
      if (one.effect != effect) continue;
      losers.insert(one.cluster);
      works.insert(one.title());
    }
    if (losers.empty()) continue;
    if (!text.empty()) text += ", and ";
    text += std::to_string(losers.size()) + " of " + std::to_string(std::max(clusters, losers.size())) +
            (std::max(clusters, losers.size()) == 1 ? " cluster (" : " clusters (") + some_names(losers) + ") would " +
            (effect == Effect::kRemoved ? "lose " : "keep ") + std::to_string(works.size()) +
            (works.size() == 1 ? " work (" : " works (") + some_names(works) + ")";
    if (effect == Effect::kAbandoned) text += " that no placement controls any longer";
  }
  return text;
}

std::vector<Objects::Key> placements_of(const std::vector<Json>& sets) {
  std::set<Objects::Key> keys;
  for (const Json& set : sets) {
    for (const Json& ref : list_at(set, {"spec", "placementRefs"})) keys.emplace(namespace_of(set), str(ref, {"name"}));
  }
  return {keys.begin(), keys.end()};
}

std::vector<SelectionChange> selection_changes(const Objects& today, const Objects& changed,
                                               const std::vector<Objects::Key>& placements, Instant now,
                                               const placement::PassOptions& options) {
  const std::map<Objects::Key, Names> before = selected_in(simulate(today, today, placements, now, options));
  const std::map<Objects::Key, Names> after = selected_in(simulate(today, changed, placements, now, options));
  std::vector<SelectionChange> changes;
  for (const Objects::Key& key : placements) {
    SelectionChange one;
    one.placement = key;
    const auto selected_before = before.find(key);
    const auto selected_after = after.find(key);
    one.exists_before = selected_before != before.end();
    one.exists_after = selected_after != after.end();
    one.before = decided_on(today, key);
    if (one.exists_before) one.before.insert(selected_before->second.begin(), selected_before->second.end());
    if (one.exists_before && one.exists_after && selected_before->second == selected_after->second) {
      one.after = one.before;
    } else if (one.exists_after) {
      one.after = selected_after->second;
    }
    changes.push_back(std::move(one));
  }
  return changes;
}

std::vector<LostWork> lost_works(const std::vector<Json>& sets, const std::vector<Json>& works,
                                 const std::vector<SelectionChange>& placements) {
  std::map<Objects::Key, const SelectionChange*> by_key;
  for (const SelectionChange& one : placements) by_key.emplace(one.placement, &one);
  struct Fate {
    Wanted before;
    Wanted after;
    std::string title;
  };
  std::map<std::string, Fate> fates;  // by the owner label of works
  for (const Json& set : sets) {
    if (is_deleting(set)) continue;
    fates[owner_label_of(set)] = {wanted_by(set, by_key, false), wanted_by(set, by_key, true),
                                  namespace_of(set) + "/" + name_of(set)};
  }
  std::vector<LostWork> lost;
  for (const Json& work : works) {
    const auto found = fates.find(label_of(work, kReplicaSetLabel));
    if (found == fates.end() || is_deleting(work)) continue;
    const Fate& fate = found->second;
    const std::string cluster = namespace_of(work);
    LostWork one{Effect::kRemoved, cluster, name_of(work), fate.title};
    if (fate.after.missing) {
      if (fate.before.missing) continue;
      one.effect = Effect::kAbandoned;
    } else {
      // While a placement is missing works stay wherever they are.
      const bool stays = fate.before.missing || fate.before.clusters.contains(cluster);
      if (!stays || fate.after.clusters.contains(cluster)) continue;
    }
    lost.push_back(std::move(one));
  }
  sort_losses(lost);
  return lost;
}

void add_all_works(const std::string& cluster, const std::vector<Json>& works, std::vector<LostWork>& lost) {
  std::erase_if(lost, [&](const LostWork& one) { return one.cluster == cluster; });
  for (const Json& work : works) {
    if (namespace_of(work) == cluster) lost.push_back({Effect::kRemoved, cluster, name_of(work), owner_of_work(work)});
  }
  sort_losses(lost);
}

}  // namespace fleetadm::work
