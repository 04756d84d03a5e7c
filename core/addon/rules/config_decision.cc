#include "core/addon/rules/config_decision.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/controller/controller.h"

namespace fleetadm::addon {
namespace {

constexpr std::string_view kConfigured = "Configured";

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

void set_references(Json& addon, Json references, rollout::Semantics conduct) {
  if (conduct == rollout::Semantics::kStrict && references != list_at(addon, {"status", "configReferences"})) {
    if (Json* known = const_cast<Json*>(controller::find_condition(addon, kConfigured))) known->erase("lastTransitionTime");
  }
  if (references.empty()) {
    erase_at(addon, {"status", "configReferences"});
  } else {
    at_or_make(addon, {"status", "configReferences"}) = std::move(references);
  }
}

}  // namespace

void configure(Json& addon, const ConfigDecision& decision, Instant now, rollout::Semantics conduct) {
  if (decision.desired) set_references(addon, merged_references(addon, *decision.desired), conduct);
  Json& conditions = at_or_make(addon, {"status", "conditions"});
  if (decision.problem.empty()) {
    controller::set_condition(conditions, kConfigured, "True", "ConfigurationsConfigured", "Configurations configured", now);
  } else {
    controller::set_condition(conditions, kConfigured, "False", "ConfigurationsNotConfigured", decision.problem, now);
  }
}

}  // namespace fleetadm::addon
