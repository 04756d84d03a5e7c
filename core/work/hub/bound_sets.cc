#include "core/work/hub/bound_sets.h"

#include <algorithm>
#include <vector>

#include "core/api/kinds.h"
#include "core/placement/engine/decode.h"
#include "core/placement/engine/fleet_state.h"

namespace fleetadm::work {
namespace {

constexpr const char* kByNamespace = "namespace";

void keep_name_and_labels(Json& cluster) {
  Json metadata = Json::object();
  for (const char* key : {"name", "uid", "resourceVersion", "labels"}) {
    if (const Json* value = find(cluster, {"metadata", key})) metadata[key] = *value;
  }
  cluster = Json::object({{"metadata", std::move(metadata)}});
}

}  // namespace

BoundSets::BoundSets(controller::Manager& manager, const kube::Client& hub) {
  kube::InformerOptions names_and_labels;
  names_and_labels.project = keep_name_and_labels;
  clusters_ = manager.informer(hub, api::managed_clusters(), std::move(names_and_labels));
  sets_ = manager.informer(hub, api::managed_cluster_sets());
  kube::InformerOptions by_namespace;
  by_namespace.indexes.emplace_back(kByNamespace,
                                    [](const Json& binding) { return std::vector<std::string>{namespace_of(binding)}; });
  bindings_ = manager.informer(hub, api::managed_cluster_set_bindings(), std::move(by_namespace));
}

std::string BoundSets::outsider(const Json& of, const PlacementView& view) const {
  const std::vector<std::string> asked = string_list_at(of, {"spec", "clusterSets"});
  std::vector<placement::Set> sets;
  for (const kube::CachedPtr& binding : bindings_->by_index(kByNamespace, namespace_of(of))) {
    const std::string name = kube::split_key(binding->key()).name;
    if (!asked.empty() && std::find(asked.begin(), asked.end(), name) == asked.end()) continue;
    if (const kube::CachedPtr set = sets_->get(name)) sets.push_back(placement::decode_set(set->decode()));
  }
  for (const rollout::Group& group : view.groups) {
    for (const std::string& name : group.clusters) {
      const kube::CachedPtr cached = clusters_->get(name);
      if (!cached) continue;
      const placement::Cluster cluster = placement::decode_cluster(cached->decode());
      const auto takes_it = [&](const placement::Set& set) { return placement::FleetState::takes(set, cluster); };
      if (std::none_of(sets.begin(), sets.end(), takes_it)) return name;
    }
  }
  return {};
}

}  // namespace fleetadm::work
