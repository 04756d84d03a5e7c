#include "core/addon/rules/configuration.h"

#include <algorithm>
#include <utility>

#include "core/addon/rules/configuration_graph.h"
#include "core/addon/rules/install_progression.h"
#include "core/addon/rules/lifecycle.h"
#include "core/addon/rules/rollout_revisions.h"
#include "core/controller/controller.h"

namespace fleetadm::addon {
namespace {

using rollout::Semantics;
using rollout::State;

constexpr Duration kLookAgain = std::chrono::minutes(10);  // without an event
/// How one placement's add-ons stand after the step.
struct Count {
  std::size_t total = 0;
  std::size_t expected = 0;
  std::size_t rolling = 0;
  std::size_t done = 0;
  std::size_t failed = 0;
  std::size_t timed_out = 0;
  std::optional<ConfigKey> missing;

  bool complete() const { return done == expected && (expected > 0 || done > 0); }
  std::string text() const;
};

std::string Count::text() const {
  const std::string all = "selected clusters " + std::to_string(total) + ". configured addons ";
  const std::string ends = std::to_string(failed) + " failed " + std::to_string(timed_out) + " timeout.";
  const std::string of = "/" + std::to_string(expected);
  if (complete()) return all + std::to_string(done) + of + " completed with no errors, " + ends;
  return all + std::to_string(rolling + done) + of + " progressing..., " + ends;
}

class Configuration {
 public:
  Configuration(const Json& declaration, const KnownTypes& known, Instant now, Semantics conduct)
      : after_(declaration), known_(known), now_(now), conduct_(conduct) {}

  Result<RolloutStep> take_step(ConfigurationGraph graph);

 private:
  void decide(const PlacementNode& node, const std::set<std::string>& rolling);
  void tell_progress(std::size_t progression, const PlacementNode& node, const rollout::Step& step);
  /// Every cluster has what it is to have, and there is one.
  bool settled(const ConfigurationGraph& graph, const std::vector<rollout::Step>& steps) const;
  Count count(const PlacementNode& node, const rollout::Step& step) const;
  bool inherits_all(const AddonNode& node, const DesiredConfigs& inherited) const;
  std::string missing_text(const ConfigKey& config) const;

  Json after_;
  const KnownTypes& known_;
  const Instant now_;
  const Semantics conduct_;
  RolloutStep step_;
};

std::string Configuration::missing_text(const ConfigKey& config) const {
  return "Configuration " + config.text() + (known_(config.type) ? " does not exist" : " has no hash yet");
}

void Configuration::decide(const PlacementNode& node, const std::set<std::string>& rolling) {
  for (const auto& [cluster, addon] : node.addons) {
    step_.looked_at.insert(cluster);
    ConfigDecision decision;
    if (addon.missing) {
      decision.problem = missing_text(*addon.missing);
    } else if (rolling.contains(cluster)) {
      decision.desired = addon.desired;
    } else if (addon.standing.state == State::kToApply) {
      decision.problem = "Configurations updated and not configured yet";
    } else if (addon.standing.state != State::kSucceeded) {
      continue;
    }
    Json after = *addon.addon;
    configure(after, decision, now_, conduct_);
    if (after != *addon.addon) step_.decisions.emplace(cluster, std::move(decision));
  }
}

/// Whether what the add-on does not decide itself is what the placement asks for. For upstream an add-on that names one
/// configuration twice never has what it asks for.
bool Configuration::inherits_all(const AddonNode& node, const DesiredConfigs& inherited) const {
  std::map<GroupResource, std::size_t> named;
  for (const Json& entry : list_at(*node.addon, {"spec", "configs"})) ++named[config_key(entry).type];
  for (const auto& [type, configs] : node.desired) {
    if (node.own.contains(type)) {
      if (conduct_ == Semantics::kUpstream && named[type] != configs.size()) return false;
      continue;
    }
    const auto of_placement = inherited.find(type);
    if (of_placement == inherited.end() || of_placement->second != configs) return false;
  }
  return true;
}

Count Configuration::count(const PlacementNode& node, const rollout::Step& step) const {
  std::set<std::string> rolling;
  for (const rollout::ClusterState& one : step.rollout) rolling.insert(one.cluster);
  Count count;
  count.total = node.clusters.size();
  count.expected = node.expected.size();
  count.timed_out = step.timed_out.size();
  for (const auto& [cluster, addon] : node.addons) {
    if (addon.missing && !count.missing) count.missing = addon.missing;
    if (rolling.contains(cluster)) {
      ++count.rolling;
    } else if (inherits_all(addon, node.desired)) {
      if (addon.standing.state == State::kSucceeded) ++count.done;
      if (addon.standing.state == State::kFailed) ++count.failed;
    }
  }
  return count;
}

void Configuration::tell_progress(std::size_t index, const PlacementNode& node, const rollout::Step& step) {
  const Count counted = count(node, step);
  Json& progression = after_["status"]["installProgressions"][index];
  Json& conditions = at_or_make(progression, {"conditions"});
  std::string text = counted.text();
  if (counted.missing) text += " " + missing_text(*counted.missing) + ".";
  if (!counted.complete()) {
    if (node.paused) text += " Paused.";
    controller::set_condition(conditions, "Progressing", "True", node.paused ? "Paused" : "Progressing", text, now_);
    return;
  }
  controller::set_condition(conditions, "Progressing", "False", "Completed", text, now_);
  if (list_at(progression, {"configReferences"}).empty()) return;
  for (Json& reference : progression["configReferences"]) {
    if (find(reference, {"desiredConfig"}) == nullptr) continue;
    reference["lastAppliedConfig"] = reference["desiredConfig"];
    reference["lastKnownGoodConfig"] = reference["desiredConfig"];
  }
}

bool Configuration::settled(const ConfigurationGraph& graph, const std::vector<rollout::Step>& steps) const {
  bool any = !graph.defaults.addons.empty();
  for (const auto& [cluster, addon] : graph.defaults.addons) {
    if (addon.standing.state != State::kSucceeded) return false;
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Count counted = count(graph.placements[i], steps[i]);
    if (graph.placements[i].waits || counted.done != counted.expected) return false;
    any = any || counted.expected > 0;
  }
  return any;
}

Result<RolloutStep> Configuration::take_step(ConfigurationGraph graph) {
  std::vector<rollout::Step> steps;
  for (const PlacementNode& node : graph.placements) {
    rollout::Step step;
    if (!node.waits) {
      FLEETADM_TRY(step, step_of(node, now_, conduct_));
    }
    steps.push_back(std::move(step));
  }
  std::set<std::string> rolling;
  for (const auto& [cluster, addon] : graph.defaults.addons) {
    const bool held = graph.defaults.paused && addon.standing.state == State::kToApply;
    if (addon.standing.state != State::kSucceeded && !held) rolling.insert(cluster);
  }
  decide(graph.defaults, rolling);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const PlacementNode& node = graph.placements[i];
    if (node.waits) continue;
    rolling.clear();
    for (const rollout::ClusterState& one : steps[i].rollout) rolling.insert(one.cluster);
    decide(node, rolling);
    std::size_t last = i;  // of a placement that is listed twice
    for (std::size_t j = i; j < steps.size(); ++j) {
      if (graph.placements[j].key == node.key && !graph.placements[j].waits) last = j;
    }
    tell_progress(node.progression, graph.placements[last], steps[last]);
    const std::optional<Duration>& wait = steps[i].recheck_after;
    if (wait && *wait < kLookAgain && (!step_.requeue_after || *wait < *step_.requeue_after)) step_.requeue_after = wait;
  }
  if (settled(graph, steps)) finish_revision(after_, configs_now(after_), now_);
  step_.declaration = std::move(after_);
  return std::move(step_);
}

RolloutStep configure_declaration(const ObjectReader& objects, const Json& declaration, const KnownTypes& known, Instant now,
                                  Semantics conduct) {
  Result<ConfigurationGraph> graph = make_graph(objects, declaration, known, conduct);
  Result<RolloutStep> step = graph ? Configuration(declaration, known, now, conduct).take_step(std::move(*graph))
                                   : Result<RolloutStep>(tl::unexpected(graph.error()));
  if (step) return std::move(*step);
  RolloutStep failed;
  failed.errors.push_back(step.error().wrap(name_of(declaration)));
  return failed;
}

void tell_not_followed(Json& declaration, const ObjectReader& objects, Instant now) {
  if (list_at(declaration, {"status", "installProgressions"}).empty()) return;
  for (Json& progression : declaration["status"]["installProgressions"]) {
    const Json* placement = entry_of(list_at(declaration, {"spec", "installStrategy", "placements"}), progression);
    if (placement == nullptr) continue;
    const Status followed = check_placement(objects, *placement, Semantics::kStrict);
    if (followed) continue;
    controller::set_condition(at_or_make(progression, {"conditions"}), "Progressing", "False", "PlacementNotFollowed",
                              followed.error().message, now);
  }
}

}  // namespace

RolloutStep configure_addons(const ObjectReader& objects, std::string_view addon, const KnownTypes& known, Instant now,
                             Semantics conduct) {
  const ObjectPtr declaration = objects.get(cluster_management_addons(), {}, addon);
  if (!declaration || !is_managed(*declaration)) return {};
  return configure_declaration(objects, *declaration, known, now, conduct);
}

RolloutStep roll_out_addon(const ObjectReader& objects, std::string_view addon, const KnownTypes& known, Instant now) {
  const ObjectPtr before = objects.get(cluster_management_addons(), {}, addon);
  if (!before || is_deleting(*before)) return {};
  Json declaration = *before;
  set_progressions(declaration);
  const bool managed = is_managed(declaration);
  // Of any other add-on the hashes are its own manager's affair.
  if (managed || may_have_template(declaration)) set_desired_hashes(declaration, objects, known);
  if (!managed) {
    RolloutStep told;
    if (declaration != *before) told.declaration = std::move(declaration);
    return told;
  }
  if (const RevisionConfigs configs = configs_now(declaration); configs.known()) note_revision(declaration, configs, {}, now);
  RolloutStep step = configure_declaration(objects, declaration, known, now, Semantics::kStrict);
  if (!step.errors.empty()) {  // what is known is told all the same
    tell_not_followed(declaration, objects, now);
    step.declaration = std::move(declaration);
    for (const ObjectPtr& one : objects.addons_named(addon)) step.looked_at.insert(namespace_of(*one));
  }
  return step;
}

bool is_rolled_out(const Json& declaration) { return is_managed(declaration) && !is_deleting(declaration); }

Pass pass_of(RolloutStep step, const ObjectReader& objects, std::string_view addon, Instant now, Semantics conduct) {
  Pass pass;
  for (const auto& [cluster, decision] : step.decisions) {
    pass.changed.push_back(*objects.get(managed_cluster_addons(), cluster, addon));
    configure(pass.changed.back(), decision, now, conduct);
  }
  if (step.declaration) pass.changed.push_back(std::move(*step.declaration));
  pass.errors = std::move(step.errors);
  pass.requeue_after = step.requeue_after;
  return pass;
}

}  // namespace fleetadm::addon
