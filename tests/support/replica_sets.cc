#include "tests/support/replica_sets.h"

#include "core/api/kinds.h"
#include "core/placement/engine/decode.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"

namespace fleetadm::testkit {

void put_decision(FakeApi& hub, const std::string& ns, const std::string& name, std::size_t index, const DecidedGroup& group) {
  Json decisions = Json::array();
  for (const std::string& cluster : group.clusters) decisions.push_back({{"clusterName", cluster}, {"reason", ""}});
  Json labels{{std::string(api::kPlacementLabel), name}, {std::string(placement::kGroupIndexLabel), std::to_string(index)}};
  if (!group.name.empty()) labels[std::string(placement::kGroupNameLabel)] = group.name;
  hub.put(api::placement_decisions(),
          {{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
           {"kind", "PlacementDecision"},
           {"metadata", {{"name", name + "-decision-" + std::to_string(index + 1)}, {"namespace", ns}, {"labels", labels}}},
           {"status", {{"decisions", decisions}}}});
}

void put_decided(FakeApi& hub, const std::string& ns, const std::string& name, const std::vector<DecidedGroup>& groups) {
  std::size_t selected = 0;
  Json summary = Json::array();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    put_decision(hub, ns, name, i, groups[i]);
    selected += groups[i].clusters.size();
    summary.push_back(Json::object());
  }
  hub.put(api::placements(), {{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
                              {"kind", "Placement"},
                              {"metadata", {{"name", name}, {"namespace", ns}}},
                              {"spec", Json::object()},
                              {"status", {{"numberOfSelectedClusters", selected}, {"decisionGroups", summary}}}});
}

void report_as_agents(FakeApi& hub, const AgentSays& says, const std::string& message) {
  for (const Json& work : hub.all(api::manifest_works())) {
    const std::optional<std::string> wanted = says(namespace_of(work));
    if (!wanted) continue;
    const std::int64_t generation = num(work, {"metadata", "generation"});
    const Json* applied = work::condition_in(list_at(work, {"status", "conditions"}), work::kConditionApplied);
    if (applied != nullptr && num(*applied, {"observedGeneration"}) == generation && str(*applied, {"status"}) == *wanted)
      continue;
    Json conditions = Json::array();
    for (const char* type : {"Applied", "Available"}) {
      conditions.push_back({{"type", type},
                            {"status", *wanted},
                            {"reason", "Test"},
                            {"message", *wanted == "True" ? "" : message},
                            {"lastTransitionTime", format_time(Clock::system()->now())},
                            {"observedGeneration", generation}});
    }
    Json manifests = Json::array();
    for (const Json& manifest : list_at(work, {"spec", "workload", "manifests"})) {
      Json meta{{"kind", str(manifest, {"kind"})}, {"name", name_of(manifest)}, {"namespace", namespace_of(manifest)}};
      manifests.push_back({{"resourceMeta", std::move(meta)}, {"conditions", conditions}});
    }
    kube::WriteOptions options;
    options.subresource = "status";
    const Json body{{"status", {{"conditions", conditions}, {"resourceStatus", {{"manifests", manifests}}}}}};
    (void)hub.client().patch(api::manifest_works(), namespace_of(work), name_of(work), kube::PatchType::kMerge, body, options);
  }
}

}  // namespace fleetadm::testkit
