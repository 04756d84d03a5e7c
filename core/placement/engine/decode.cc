#include "core/placement/engine/decode.h"

#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "kubeclient/base/go_numbers.h"

namespace fleetadm::placement {
namespace {

Effect effect_of(const std::string& text) {
  if (text == "NoSelect") return Effect::kNoSelect;
  if (text == "PreferNoSelect") return Effect::kPreferNoSelect;
  if (text == "NoSelectIfNew") return Effect::kNoSelectIfNew;
  return text.empty() ? Effect::kNone : Effect::kOther;
}

// Figures are texts; a plain JSON number is allowed too.
std::optional<double> figure(const Json& object, std::string_view list, std::string_view resource) {
  const Json* value = find(object, {"status", list, resource});
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return quantity_as_double(str(object, {"status", list, resource}));
  return value->is_number() ? quantity_as_double(dump_json(*value)) : std::nullopt;
}

std::optional<double> allocatable(const Json& object, std::string_view resource) {
  return figure(object, "capacity", resource) ? figure(object, "allocatable", resource) : std::nullopt;
}

Selector label_selector(const Json& object, std::string_view parent) {
  return Selector::compile(object_at(object, {parent, "labelSelector"}));
}

// The kind has matchExpressions only: anything else is no part of it.
Selector claim_selector(const Json& object, std::string_view parent) {
  return Selector::compile(Json{{"matchExpressions", list_at(object, {parent, "claimSelector", "matchExpressions"})}});
}

std::optional<std::int64_t> optional_number(const Json& object, Path path) {
  const Json* value = find(object, path);
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  return num(object, path);
}

}  // namespace

Labels labels_of(const Json& object) {
  Labels labels;
  for (auto& [key, value] : strings_at(object, {"metadata", "labels"})) labels.emplace_back(key, value);
  return labels;
}

Cluster decode_cluster(const Json& object) {
  Cluster cluster;
  cluster.name = name_of(object);
  cluster.labels = labels_of(object);
  for (const Json& claim : list_at(object, {"status", "clusterClaims"})) {
    cluster.claims.emplace_back(str(claim, {"name"}), str(claim, {"value"}));
  }
  normalize_labels(cluster.claims);
  for (const Json& taint : list_at(object, {"spec", "taints"})) {
    std::string effect = str(taint, {"effect"});
    Taint one{str(taint, {"key"}), str(taint, {"value"}), effect_of(effect), parse_time(str(taint, {"timeAdded"})), {}};
    if (one.effect == Effect::kOther) one.other_effect = std::move(effect);
    cluster.taints.push_back(std::move(one));
  }
  if (api::awaits_first_report(object)) {
    const auto made = parse_time(str(object, {"metadata", "creationTimestamp"}));
    cluster.taints.push_back({std::string(api::kUnreachableTaint), {}, Effect::kNoSelect, made, {}});
  }
  cluster.cpu = allocatable(object, "cpu");
  cluster.memory = allocatable(object, "memory");
  cluster.deleting = is_deleting(object);
  return cluster;
}

Set decode_set(const Json& object) {
  Set set;
  set.name = name_of(object);
  set.selector_type = str(object, {"spec", "clusterSelector", "selectorType"});
  const Json* selector = find(object, {"spec", "clusterSelector", "labelSelector"});
  if (selector != nullptr && selector->is_object()) set.selector = Selector::compile(*selector);
  return set;
}

Binding decode_binding(const Json& object) {
  return {namespace_of(object), name_of(object), str(object, {"spec", "clusterSet"})};
}

Decision decode_decision(const Json& object) {
  Decision decision{namespace_of(object),
                    name_of(object),
                    label_of(object, api::kPlacementLabel),
                    label_of(object, kGroupNameLabel),
                    label_of(object, kGroupIndexLabel),
                    {},
                    resource_version_of(object)};
  for (const Json& entry : list_at(object, {"status", "decisions"})) decision.clusters.push_back(str(entry, {"clusterName"}));
  return decision;
}

Score decode_score(const Json& object) {
  Score::Items items;
  for (const Json& item : list_at(object, {"status", "scores"})) items.emplace_back(str(item, {"name"}), num(item, {"value"}));
  items.shrink_to_fit();
  return {namespace_of(object), name_of(object), std::make_shared<const Score::Items>(std::move(items)),
          parse_time(str(object, {"status", "validUntil"}))};
}

Placement decode_placement(const Json& object) {
  Placement placement;
  placement.ns = namespace_of(object);
  placement.name = name_of(object);
  placement.deleting = is_deleting(object);
  placement.disabled = annotation_of(object, kDisableAnnotation) == "true";
  placement.cluster_sets = string_list_at(object, {"spec", "clusterSets"});
  placement.number_of_clusters = optional_number(object, {"spec", "numberOfClusters"});
  for (const Json& predicate : list_at(object, {"spec", "predicates"})) {
    placement.predicates.push_back({label_selector(predicate, "requiredClusterSelector"),
                                    claim_selector(predicate, "requiredClusterSelector"),
                                    string_list_at(predicate, {"requiredClusterSelector", "celSelector", "celExpressions"})});
  }
  placement.mode = str(object, {"spec", "prioritizerPolicy", "mode"});
  for (const Json& entry : list_at(object, {"spec", "prioritizerPolicy", "configurations"})) {
    PrioritizerConfig config;
    const Json* coordinate = find(entry, {"scoreCoordinate"});
    config.has_coordinate = coordinate != nullptr && coordinate->is_object();
    config.type = str(entry, {"scoreCoordinate", "type"});
    config.built_in = str(entry, {"scoreCoordinate", "builtIn"});
    if (const Json* addon = find(entry, {"scoreCoordinate", "addOn"}); addon != nullptr && addon->is_object()) {
      config.addon = AddonCoordinate{str(*addon, {"resourceName"}), str(*addon, {"scoreName"})};
    }
    config.weight = num(entry, {"weight"});
    placement.prioritizers.push_back(std::move(config));
  }
  for (const Json& entry : list_at(object, {"spec", "tolerations"})) {
    placement.tolerations.push_back({str(entry, {"key"}), str(entry, {"operator"}), str(entry, {"value"}), str(entry, {"effect"}),
                                     optional_number(entry, {"tolerationSeconds"})});
  }
  const Json& strategy = object_at(object, {"spec", "decisionStrategy", "groupStrategy"});
  if (const Json* size = find(strategy, {"clustersPerDecisionGroup"}); size != nullptr) {
    if (size->is_string()) placement.group_size.text = str(strategy, {"clustersPerDecisionGroup"});
    if (size->is_number_integer()) placement.group_size.number = num(strategy, {"clustersPerDecisionGroup"});
  }
  for (const Json& group : list_at(strategy, {"decisionGroups"})) {
    placement.groups.push_back({str(group, {"groupName"}), label_selector(group, "groupClusterSelector"),
                                claim_selector(group, "groupClusterSelector")});
  }
  return placement;
}

}  // namespace fleetadm::placement
