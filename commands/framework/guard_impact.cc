// What the guard reads from the hub, no more than the change can affect.
#include <algorithm>
#include <set>

#include "commands/framework/guard.h"
#include "commands/framework/inputs.h"
#include "core/api/gateway.h"
#include "core/api/kinds.h"
#include "core/placement/engine/cel_evaluator.h"
#include "core/work/rules/names.h"
#include "core/work/rules/replica_set_rules.h"

namespace fleetadm::commands {
namespace {

using placement::ObjectKind;

/// A hub that does not serve works has none.
Status each_if_served(const kube::Client& hub, const kube::Resource& resource, const std::string& ns,
                      const kube::ListOptions& which, std::vector<Json>& into) {
  const Status listed = hub.list_each(resource, ns, which, [&](Json&& object) -> Status {
    erase_at(object, {"status"});
    into.push_back(std::move(object));
    return {};
  });
  if (listed || listed.error().category == Category::kNotFound) return {};
  return listed;
}

/// Of works only the metadata is kept: a hub may have many, and large ones.
Status works_in(const kube::Client& hub, const std::string& ns, const std::string& selector, std::vector<Json>& into) {
  kube::ListOptions which;
  which.label_selector = selector;
  const Status listed = hub.list_each(api::manifest_works(), ns, which, [&](Json&& work) -> Status {
    // The hub's own, which go with the cluster.
    if (label_of(work, api::kGatewayWorkLabel).empty()) into.push_back(Json{{"metadata", std::move(work["metadata"])}});
    return {};
  });
  if (listed || listed.error().category == Category::kNotFound) return {};
  return listed;
}

/// Whether scores and the decisions of others can influence which clusters the placement selects.
bool depends_on_rank(const Json& placement) {
  if (num(placement, {"spec", "numberOfClusters"}, -1) >= 0) return true;
  for (const Json& predicate : list_at(placement, {"spec", "predicates"})) {
    if (!object_at(predicate, {"requiredClusterSelector", "celSelector"}).empty()) return true;
  }
  return false;
}

std::vector<placement::Objects::Key> all_placements(const placement::Objects& before, const placement::Objects& after,
                                                    const std::string& ns) {
  std::set<placement::Objects::Key> keys;
  for (const placement::Objects* objects : {&before, &after}) {
    for (const auto& [key, object] : objects->of(ObjectKind::kPlacement)) {
      if (ns.empty() || key.first == ns) keys.insert(key);
    }
  }
  return {keys.begin(), keys.end()};
}

}  // namespace

Result<work::Impact> impact_of(const kube::Client& hub, const ProposedChange& change, Instant now, bool every_placement) {
  work::Impact impact;
  std::vector<Json> sets;
  FLEETADM_CHECK(each_if_served(hub, api::manifest_work_replica_sets(), change.ns, {}, sets));
  if (!sets.empty() || every_placement) {
    FLEETADM_TRY(const Inputs inputs, read_hub_inputs(hub, now, change.ns));
    placement::Objects changed = inputs.objects;
    change.make(changed);
    impact.clusters = inputs.objects.of(ObjectKind::kCluster).size();
    const std::vector<placement::Objects::Key> keys =
        every_placement ? all_placements(inputs.objects, changed, change.ns) : work::placements_of(sets);
    for (const placement::Objects::Key& key : keys) {
      const Json* object = changed.find(ObjectKind::kPlacement, key.first, key.second);
      if (!inputs.notes.empty() && object != nullptr && depends_on_rank(*object))
        return fail(Category::kAuth, "placement " + key.first + "/" + key.second + ": " + inputs.notes.front());
    }
    FLEETADM_TRY(const auto cel, placement::make_cel_evaluator());
    const placement::PassOptions pass{.cel = cel.get(), .record = false};
    std::vector<work::SelectionChange> moves = work::selection_changes(inputs.objects, changed, keys, now, pass);
    for (const placement::Objects::Key& key : work::placements_of(sets)) {
      // Neither before nor after: the sets that refer to it do nothing.
      if (!std::binary_search(keys.begin(), keys.end(), key)) moves.push_back({key, false, false, {}, {}});
    }
    const auto same = [](const work::SelectionChange& one) {
      return one.before == one.after && one.exists_before == one.exists_after;
    };
    if (!std::all_of(moves.begin(), moves.end(), same)) {
      std::vector<Json> works;
      FLEETADM_CHECK(works_in(hub, "", std::string(work::kReplicaSetLabel), works));
      impact.lost = work::lost_works(sets, works, moves);
    }
    std::erase_if(moves, same);
    impact.placements = std::move(moves);
  } else if (!change.leaving.empty()) {
    FLEETADM_CHECK(hub.list_each(api::managed_clusters(), "", {}, [&](const Json&) -> Status {
      ++impact.clusters;
      return {};
    }));
  }
  for (const std::string& cluster : change.leaving) {
    std::vector<Json> works;
    FLEETADM_CHECK(works_in(hub, cluster, "", works));
    work::add_all_works(cluster, works, impact.lost);
  }
  return impact;
}

}  // namespace fleetadm::commands
