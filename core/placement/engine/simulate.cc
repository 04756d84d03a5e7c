#include "core/placement/engine/simulate.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/placement/engine/decode.h"

namespace fleetadm::placement {
namespace {

using Names = std::set<std::string>;

std::vector<Decision> decisions_in(const Objects::Key& key, const Pass& pass) {
  std::vector<Decision> out;
  for (const WantedDecision& one : pass.decisions) {
    out.push_back({key.first, one.name, key.second, one.group_name, std::to_string(one.group_index), one.clusters});
  }
  return out;
}

Names clusters_in(const Pass& pass) {
  Names names;
  for (const WantedDecision& one : pass.decisions) names.insert(one.clusters.begin(), one.clusters.end());
  return names;
}

Names decided_today(const Objects& today, const Objects::Key& key) {
  Names names;
  for (const Json* object : today.decisions_of(key.first, key.second)) {
    for (std::string& cluster : decode_decision(*object).clusters) names.insert(std::move(cluster));
  }
  return names;
}

std::vector<std::string> difference(const Names& a, const Names& b) {
  std::vector<std::string> out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

}  // namespace

std::vector<Simulated> simulate(const Objects& today, const Objects& changed, const std::vector<Objects::Key>& placements,
                                Instant now, const PassOptions& options) {
  const bool unchanged = &today == &changed;
  std::map<Objects::Key, Pass> baseline;
  FleetState before = today.world();
  for (const auto& [key, object] : today.of(ObjectKind::kPlacement)) {
    if (!today.decisions_of(key.first, key.second).empty()) continue;
    Pass pass = schedule(before, decode_placement(object), now, options);
    for (Decision& one : decisions_in(key, pass)) before.put(std::move(one));
    baseline.emplace(key, std::move(pass));
  }
  FleetState after = changed.world();
  for (const auto& [key, pass] : baseline) {
    for (Decision& one : decisions_in(key, pass)) after.put(std::move(one));
  }
  std::vector<Simulated> out;
  for (const Objects::Key& key : placements) {
    const Json* object = changed.find(ObjectKind::kPlacement, key.first, key.second);
    if (object == nullptr) continue;
    Simulated one{key.first, key.second, {}, false, {}, {}, {}};
    const auto known = baseline.find(key);
    one.against_baseline = known != baseline.end();
    const Names old = one.against_baseline ? clusters_in(known->second) : decided_today(today, key);
    one.pass = unchanged && one.against_baseline ? known->second : schedule(after, decode_placement(*object), now, options);
    // A pass that decides nothing leaves what is there.
    const Names chosen = one.pass.skipped || !one.pass.failure.empty() ? old : clusters_in(one.pass);
    one.added = difference(chosen, old);
    one.removed = difference(old, chosen);
    std::set_intersection(chosen.begin(), chosen.end(), old.begin(), old.end(), std::back_inserter(one.kept));
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace fleetadm::placement
