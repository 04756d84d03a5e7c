#include "core/placement/engine/scenario.h"

#include "core/placement/engine/decode.h"

namespace fleetadm::placement {
namespace {

Json scores_json(const Scores& scores) {
  Json out = Json::object();
  for (const auto& [name, value] : scores) out[name] = value;
  return out;
}

Json status_json(const Pass& pass) {
  Json groups = Json::array();
  for (const GroupStatus& group : pass.groups) {
    groups.push_back({{"decisionGroupIndex", group.index},
                      {"decisionGroupName", group.name},
                      {"decisions", group.decisions},
                      {"clusterCount", group.clusters}});
  }
  Json conditions = Json::array();
  for (const ConditionValue& one : pass.conditions) {
    conditions.push_back({{"type", one.type}, {"status", one.status}, {"reason", one.reason}, {"message", one.message}});
  }
  return {{"numberOfSelectedClusters", pass.selected_count},
          {"decisionGroups", std::move(groups)},
          {"conditions", std::move(conditions)}};
}

}  // namespace

bool put_object(FleetState& world, const Json& object) {
  const std::string kind = str(object, {"kind"});
  if (kind == "ManagedCluster") {
    Cluster cluster = decode_cluster(object);
    cluster.object.cached = std::make_shared<const kube::CachedObject>(cluster.name, object);
    world.put(std::move(cluster));
  } else if (kind == "ManagedClusterSet") {
    world.put(decode_set(object));
  } else if (kind == "ManagedClusterSetBinding") {
    world.put(decode_binding(object));
  } else if (kind == "PlacementDecision") {
    world.put(decode_decision(object));
  } else if (kind == "AddOnPlacementScore") {
    world.put(decode_score(object));
  } else {
    return false;
  }
  return true;
}

Result<Scenario> decode_scenario(const Json& line) {
  Scenario scenario;
  const auto now = parse_time(str(line, {"now"}));
  if (!now) return fail(Category::kInvalid, "\"now\" is no RFC 3339 time");
  scenario.now = *now;
  const std::string wanted = str(line, {"placement"});
  if (wanted.find('/') == std::string::npos) return fail(Category::kInvalid, "\"placement\" is not NAMESPACE/NAME");
  const Json* objects = find(line, {"objects"});
  if (objects == nullptr || !objects->is_array()) return fail(Category::kInvalid, "\"objects\" is no list");
  bool found = false;
  for (const Json& object : *objects) {
    if (put_object(scenario.world, object)) continue;
    if (str(object, {"kind"}) != "Placement" || namespace_of(object) + "/" + name_of(object) != wanted) continue;
    scenario.placement = decode_placement(object);
    found = true;
  }
  if (!found) return fail(Category::kNotFound, "placement \"" + wanted + "\" is not among the objects");
  return scenario;
}

Json encode_pass(const Pass& pass) {
  Json out{{"selected", pass.selected}};
  if (pass.skipped || !pass.failure.empty()) {
    out[pass.skipped ? "skipped" : "failed"] = true;
    return out;
  }
  for (const FilterRecord& filter : pass.filters)
    out["filters"].push_back({{"name", filter.name}, {"filteredClusters", filter.clusters}});
  for (const PrioritizerRecord& one : pass.prioritizers) {
    out["prioritizers"].push_back({{"name", one.name}, {"weight", one.weight}, {"scores", scores_json(one.scores)}});
  }
  if (!pass.sums.empty()) out["scores"] = scores_json(pass.sums);
  if (pass.requeue_at) out["requeueAfter"] = format_time(*pass.requeue_at);
  for (const WantedDecision& one : pass.decisions) {
    out["placementDecisions"].push_back({{"name", one.name},
                                         {"groupName", one.group_name},
                                         {"groupIndex", std::to_string(one.group_index)},
                                         {"clusters", one.clusters}});
  }
  if (!pass.surplus.empty()) out["deletedDecisions"] = pass.surplus;
  out["status"] = status_json(pass);
  return out;
}

Result<Json> answer_scenario(const Json& line, const CelEvaluator* cel) {
  FLEETADM_TRY(const Scenario scenario, decode_scenario(line));
  return encode_pass(schedule(scenario.world, scenario.placement, scenario.now, {.cel = cel, .record = true}));
}

}  // namespace fleetadm::placement
