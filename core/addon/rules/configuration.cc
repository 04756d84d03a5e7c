#include "core/addon/rules/configuration.h"

#include <algorithm>
#include <utility>

#include "core/addon/rules/configuration_graph.h"
#include "core/addon/rules/install_progression.h"
#include "core/addon/rules/lifecycle.h"
#include "core/controller/controller.h"

namespace fleetadm::addon {
namespace {

using rollout::Semantics;
using rollout::State;

constexpr Duration kLookAgain = std::chrono::minutes(10);  // without an event
constexpr std::string_view kConfigured = "Configured";

void set_condition_of(Json& object, std::string_view type, std::string_view status, std::string_view reason,
                      std::string_view message, Instant now) {
  controller::set_condition(at_or_make(object, {"status", "conditions"}), type, status, reason, message, now);
}

void tell_configured(Json& addon, Instant now) {
  set_condition_of(addon, kConfigured, "True", "ConfigurationsConfigured", "Configurations configured", now);
}

/// What is known of a reference that stays is kept, and its place among those of its type.
Json merged_references(const Json& addon, const DesiredConfigs& desired) {
  std::vector<Json> merged;
  std::set<ConfigKey> kept;
  for (const Json& reference : list_at(addon, {"status", "configReferences"})) {
    const std::optional<DesiredConfig> actual = config_of(reference);
    const DesiredConfig* wanted = actual ? find_config(desired, actual->key) : nullptr;
    if (wanted == nullptr || !kept.insert(wanted->key).second) continue;
    merged.push_back(reference);
    merged.back()["desiredConfig"] = to_json(*wanted);
  }
  for (const auto& [type, configs] : desired) {
    for (const DesiredConfig& config : configs) {
      if (!kept.insert(config.key).second) continue;
      merged.push_back(config_reference(config));
      merged.back()["lastObservedGeneration"] = 0;
    }
  }
  std::stable_sort(merged.begin(), merged.end(), [](const Json& a, const Json& b) {
    return std::pair(str(a, {"group"}), str(a, {"resource"})) < std::pair(str(b, {"group"}), str(b, {"resource"}));
  });
  return merged;
}

Json configured(const AddonNode& node, Instant now, Semantics conduct) {
  Json after = *node.addon;
  Json references = merged_references(after, node.desired);
  if (conduct == Semantics::kStrict && references != list_at(after, {"status", "configReferences"})) {
    // The condition begins anew: deadlines count from here.
    if (Json* known = const_cast<Json*>(controller::find_condition(after, kConfigured))) known->erase("lastTransitionTime");
  }
  if (references.empty()) {
    erase_at(after, {"status", "configReferences"});
  } else {
    at_or_make(after, {"status", "configReferences"}) = std::move(references);
  }
  tell_configured(after, now);
  return after;
}

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

  Result<Pass> take_step(ConfigurationGraph graph);

 private:
  void configure(const PlacementNode& node, const std::set<std::string>& rolling);
  void tell_progress(std::size_t progression, const PlacementNode& node, const rollout::Step& step);
  Count count(const PlacementNode& node, const rollout::Step& step) const;
  bool inherits_all(const AddonNode& node, const DesiredConfigs& inherited) const;
  std::string missing_text(const ConfigKey& config) const;

  Json after_;
  const KnownTypes& known_;
  const Instant now_;
  const Semantics conduct_;
  Pass pass_;
};

std::string Configuration::missing_text(const ConfigKey& config) const {
  return "Configuration " + config.text() + (known_(config.type) ? " does not exist" : " has no hash yet");
}

void Configuration::configure(const PlacementNode& node, const std::set<std::string>& rolling) {
  for (const auto& [cluster, addon] : node.addons) {
    Json after;
    if (addon.missing) {
      after = *addon.addon;
      set_condition_of(after, kConfigured, "False", "ConfigurationsNotConfigured", missing_text(*addon.missing), now_);
    } else if (rolling.contains(cluster)) {
      after = configured(addon, now_, conduct_);
    } else if (addon.standing.state == State::kToApply) {
      after = *addon.addon;
      set_condition_of(after, kConfigured, "False", "ConfigurationsNotConfigured",
                       "Configurations updated and not configured yet", now_);
    } else if (addon.standing.state == State::kSucceeded) {
      after = *addon.addon;
      tell_configured(after, now_);
    } else {
      continue;
    }
    if (after != *addon.addon) pass_.changed.push_back(std::move(after));
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
    controller::set_condition(conditions, "Progressing", "True", "Progressing", text, now_);
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

Result<Pass> Configuration::take_step(ConfigurationGraph graph) {
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
    if (addon.standing.state != State::kSucceeded) rolling.insert(cluster);
  }
  configure(graph.defaults, rolling);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const PlacementNode& node = graph.placements[i];
    if (node.waits) continue;
    rolling.clear();
    for (const rollout::ClusterState& one : steps[i].rollout) rolling.insert(one.cluster);
    configure(node, rolling);
    std::size_t last = i;  // of a placement that is listed twice
    for (std::size_t j = i; j < steps.size(); ++j) {
      if (graph.placements[j].key == node.key && !graph.placements[j].waits) last = j;
    }
    tell_progress(node.progression, graph.placements[last], steps[last]);
    const std::optional<Duration>& wait = steps[i].recheck_after;
    if (wait && *wait < kLookAgain && (!pass_.requeue_after || *wait < *pass_.requeue_after)) pass_.requeue_after = wait;
  }
  pass_.changed.push_back(std::move(after_));
  return std::move(pass_);
}

Pass configure_declaration(const ObjectReader& objects, const Json& declaration, const KnownTypes& known, Instant now,
                           Semantics conduct) {
  Result<ConfigurationGraph> graph = make_graph(objects, declaration, known, conduct);
  Result<Pass> pass = graph ? Configuration(declaration, known, now, conduct).take_step(std::move(*graph))
                            : Result<Pass>(tl::unexpected(graph.error()));
  if (pass) return std::move(*pass);
  Pass failed;
  failed.errors.push_back(pass.error().wrap(name_of(declaration)));
  return failed;
}

}  // namespace

Pass configure_addons(const ObjectReader& objects, std::string_view addon, const KnownTypes& known, Instant now,
                      Semantics conduct) {
  const ObjectPtr declaration = objects.get(cluster_management_addons(), {}, addon);
  if (!declaration || !is_managed(*declaration)) return {};
  return configure_declaration(objects, *declaration, known, now, conduct);
}

Pass roll_out_addon(const ObjectReader& objects, std::string_view addon, const KnownTypes& known, Instant now) {
  const ObjectPtr before = objects.get(cluster_management_addons(), {}, addon);
  if (!before || is_deleting(*before)) return {};
  Json declaration = *before;
  set_progressions(declaration);
  const bool managed = is_managed(declaration);
  // Of any other add-on the hashes are its own manager's affair.
  if (managed || may_have_template(declaration)) set_desired_hashes(declaration, objects, known);
  if (!managed) {
    Pass told;
    if (declaration != *before) told.changed.push_back(std::move(declaration));
    return told;
  }
  Pass pass = configure_declaration(objects, declaration, known, now, Semantics::kStrict);
  if (!pass.errors.empty()) pass.changed.push_back(std::move(declaration));  // what is known is told all the same
  return pass;
}

}  // namespace fleetadm::addon
