#include "core/addon/rules/configuration_graph.h"

#include <algorithm>
#include <utility>

#include "core/addon/rules/placement_groups.h"
#include "core/controller/controller.h"
#include "core/rollout/engine.h"
#include "core/work/rules/replica_set_revisions.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::addon {
namespace {

using rollout::Semantics;
using rollout::State;

bool same_placement(const Json& a, const Json& b) {
  return str(a, {"namespace"}) == str(b, {"namespace"}) && str(a, {"name"}) == str(b, {"name"});
}

void add_config(std::vector<DesiredConfig>& configs, DesiredConfig config) {
  const bool known = std::any_of(configs.begin(), configs.end(), [&](const DesiredConfig& one) { return one.key == config.key; });
  if (!known) configs.push_back(std::move(config));
}

void replace_by(DesiredConfigs& configs, const Json& references) {
  std::set<GroupResource> replaced;
  for (const Json& reference : references) {
    std::optional<DesiredConfig> config = config_of(reference);
    if (!config) continue;
    std::vector<DesiredConfig>& of_type = configs[config->key.type];
    if (replaced.insert(config->key.type).second) of_type.clear();
    add_config(of_type, std::move(*config));
  }
}

/// Where an add-on stands that has the desired references already, or has not.
rollout::ClusterState standing_of(const Json& addon, const DesiredConfigs& desired, const std::optional<Instant>& retry_at,
                                  Semantics conduct) {
  rollout::ClusterState out;
  out.cluster = namespace_of(addon);
  const Json& references = list_at(addon, {"status", "configReferences"});
  if (references.size() != count_of(desired)) return out;
  const Json none;
  const Json* found = controller::find_condition(addon, "Progressing");
  const Json& progressing = found == nullptr ? none : *found;
  const std::string reason = str(progressing, {"reason"});
  std::optional<Instant> since = parse_time(str(progressing, {"lastTransitionTime"}));
  if (conduct == Semantics::kStrict) {
    // What the condition tells of an earlier configuration does not count for this one.
    const Json* configured = controller::find_condition(addon, "Configured");
    const auto begun = configured == nullptr ? std::nullopt : parse_time(str(*configured, {"lastTransitionTime"}));
    if (begun && (!since || *since < *begun)) since = begun;
  }
  for (const Json& reference : references) {
    const std::optional<DesiredConfig> actual = config_of(reference);
    const DesiredConfig* wanted = actual ? find_config(desired, actual->key) : nullptr;
    if (wanted == nullptr || *wanted != *actual) return out;
    if (config_of(reference, "lastAppliedConfig") == actual) continue;
    out.state = reason == "Failed" ? State::kFailed : State::kProgressing;
    if (reason == "Failed" || reason == "Progressing" || conduct == Semantics::kStrict) out.since = since;
    if (retry_at && (!out.since || *out.since < *retry_at)) out.since = retry_at;  // deadlines count from here
    return out;
  }
  out.state = State::kSucceeded;
  if (reason == "Completed") out.since = since;
  return out;
}

/// Its strategy, groups and clusters.
Result<PlacementNode> placement_node(const ObjectReader& objects, const Json& placement, Semantics conduct) {
  PlacementNode node;
  const std::string ns = str(placement, {"namespace"});
  const std::string name = str(placement, {"name"});
  node.key = kube::object_key(ns, name);
  PlacementGroups groups = read_groups(objects, ns, name, conduct);
  if (!groups.placement) return fail(Category::kNotFound, "there is no placement " + node.key);
  if (!groups.problem.empty()) return fail(Category::kInvalid, groups.problem);
  FLEETADM_TRY(node.strategy, rollout::parse_strategy(object_at(placement, {"rolloutStrategy"})));
  const rollout::Threshold& most = node.strategy.max_concurrency;
  if (node.strategy.kind == rollout::Kind::kProgressive && most.number == 0 && most.text.value_or("").empty()) {
    const Json* size =
        fleetadm::find(*groups.placement, {"spec", "decisionStrategy", "groupStrategy", "clustersPerDecisionGroup"});
    node.strategy.max_concurrency = {};
    if (size != nullptr && size->is_string()) node.strategy.max_concurrency.text = size->get<std::string>();
    if (size != nullptr && size->is_number_integer()) node.strategy.max_concurrency.number = size->get<std::int64_t>();
  }
  node.groups = std::move(groups.groups);
  node.clusters = std::move(groups.clusters);
  return node;
}

class Builder {
 public:
  Builder(const ObjectReader& objects, const Json& declaration, const KnownTypes& known, Semantics conduct)
      : objects_(objects), declaration_(declaration), known_(known), conduct_(conduct) {
    if (strict()) control_ = work::control_of(declaration);
  }

  Result<ConfigurationGraph> make();

 private:
  AddonNode node_of(ObjectPtr addon, const DesiredConfigs& inherited) const;
  Status add_placement(const Json& placement, std::optional<std::size_t> progression);
  void restrict_groups(PlacementNode& node) const;
  bool strict() const { return conduct_ == Semantics::kStrict; }

  const ObjectReader& objects_;
  const Json& declaration_;
  const KnownTypes& known_;
  const Semantics conduct_;
  work::Control control_;
  ConfigurationGraph graph_;
};

AddonNode Builder::node_of(ObjectPtr addon, const DesiredConfigs& inherited) const {
  AddonNode node;
  node.desired = inherited;
  for (const Json& entry : list_at(*addon, {"spec", "configs"})) {
    DesiredConfig config{config_key(entry), {}};
    std::vector<DesiredConfig>& of_type = node.desired[config.key.type];
    if (node.own.insert(config.key.type).second) of_type.clear();
    add_config(of_type, std::move(config));
  }
  for (const GroupResource& type : node.own) {
    for (DesiredConfig& config : node.desired[type]) {
      const std::optional<std::string> live = strict() ? live_hash(objects_, known_, config.key) : std::nullopt;
      if (live) config.hash = *live;
      for (const Json& reference : list_at(*addon, {"status", "configReferences"})) {
        const std::optional<DesiredConfig> actual = config_of(reference);
        if (!live && actual && actual->key == config.key) config.hash = actual->hash;
      }
    }
  }
  node.standing = standing_of(*addon, node.desired, control_.retry_at, conduct_);
  if (strict()) {
    for (const auto& [type, configs] : node.desired) {
      for (const DesiredConfig& config : configs) {
        if (config.hash.empty() && !node.missing) node.missing = config.key;
      }
    }
    if (node.missing) node.standing = {namespace_of(*addon), {}, State::kSkip, std::nullopt, std::nullopt};
  }
  node.addon = std::move(addon);
  return node;
}

Status Builder::add_placement(const Json& placement, std::optional<std::size_t> progression) {
  FLEETADM_TRY(PlacementNode node, placement_node(objects_, placement, conduct_));
  node.paused = control_.paused;
  node.expected = node.clusters;
  node.desired = graph_.defaults.desired;
  node.waits = !progression;
  if (progression) {
    node.progression = *progression;
    replace_by(node.desired,
               list_at(list_at(declaration_, {"status", "installProgressions"})[*progression], {"configReferences"}));
  }
  for (const std::string& cluster : node.clusters) {
    const auto take_from = [&](PlacementNode& other) {
      const auto found = other.addons.find(cluster);
      if (found == other.addons.end()) return;
      node.addons[cluster] = node_of(found->second.addon, node.desired);
      other.addons.erase(found);
      other.expected.erase(cluster);
    };
    take_from(graph_.defaults);
    for (PlacementNode& earlier : graph_.placements) take_from(earlier);
  }
  graph_.placements.push_back(std::move(node));
  return {};
}

/// kStrict: the roll-out counts what it can act on, and what is going to be installed.
void Builder::restrict_groups(PlacementNode& node) const {
  for (rollout::Group& group : node.groups) {
    std::erase_if(group.clusters, [&](const std::string& cluster) {
      if (node.addons.contains(cluster)) return false;
      return !node.expected.contains(cluster) || objects_.get(managed_clusters(), {}, cluster) == nullptr;
    });
  }
}

Result<ConfigurationGraph> Builder::make() {
  graph_.defaults.paused = control_.paused;
  for (const Json& reference : list_at(declaration_, {"status", "defaultConfigReferences"})) {
    if (const std::optional<DesiredConfig> config = config_of(reference)) {
      add_config(graph_.defaults.desired[config->key.type], *config);
    }
  }
  for (ObjectPtr& addon : objects_.addons_named(name_of(declaration_))) {
    const std::string cluster = namespace_of(*addon);
    graph_.defaults.addons.emplace(cluster, node_of(std::move(addon), graph_.defaults.desired));
  }
  const Json& strategies = list_at(declaration_, {"spec", "installStrategy", "placements"});
  const Json& progressions = list_at(declaration_, {"status", "installProgressions"});
  for (std::size_t i = 0; i < progressions.size(); ++i) {
    if (const Json* placement = entry_of(strategies, progressions[i])) FLEETADM_CHECK(add_placement(*placement, i));
  }
  if (strict() && is_installed_by_placements(declaration_)) {
    for (const Json& placement : strategies) {
      if (entry_of(progressions, placement) == nullptr) FLEETADM_CHECK(add_placement(placement, std::nullopt));
    }
  }
  if (strict()) {
    for (PlacementNode& node : graph_.placements) restrict_groups(node);
  }
  return std::move(graph_);
}

}  // namespace

Result<ConfigurationGraph> make_graph(const ObjectReader& objects, const Json& declaration, const KnownTypes& known,
                                      Semantics conduct) {
  return Builder(objects, declaration, known, conduct).make();
}

Status check_placement(const ObjectReader& objects, const Json& placement, Semantics conduct) {
  FLEETADM_TRY([[maybe_unused]] const PlacementNode node, placement_node(objects, placement, conduct));
  return {};
}

const Json* entry_of(const Json& list, const Json& placement) {
  const Json* found = nullptr;
  for (const Json& one : list) {
    if (same_placement(one, placement)) found = &one;
  }
  return found;
}

Result<rollout::Step> step_of(const PlacementNode& node, Instant now, Semantics conduct) {
  std::vector<rollout::ClusterState> existing;
  for (const auto& [cluster, addon] : node.addons) {
    existing.push_back(addon.standing);
    for (const rollout::Group& group : node.groups) {
      if (std::find(group.clusters.begin(), group.clusters.end(), cluster) != group.clusters.end())
        existing.back().group = group.key;
    }
  }
  FLEETADM_TRY(rollout::Step step, rollout::next_step(node.strategy, node.groups, existing, now, conduct));
  if (node.paused) std::erase_if(step.rollout, [](const auto& one) { return one.state == State::kToApply; });
  return step;
}

}  // namespace fleetadm::addon
