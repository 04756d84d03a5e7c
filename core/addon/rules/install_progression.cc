#include "core/addon/rules/install_progression.h"

#include <algorithm>
#include <set>

#include "core/addon/rules/placement_groups.h"

namespace fleetadm::addon {
namespace {

const Json* reference_to(const Json& references, const ConfigKey& key) {
  for (const Json& reference : references) {
    const std::optional<DesiredConfig> config = config_of(reference);
    if (config && config->key == key) return &reference;
  }
  return nullptr;
}

Json default_references(const Json& declaration) {
  const Json& known = list_at(declaration, {"status", "defaultConfigReferences"});
  Json references = Json::array();
  for (const Json& entry : list_at(declaration, {"spec", "defaultConfigs"})) {
    const ConfigKey key = config_key(entry);
    if (key.name.empty() || key.name == kNoDefaultName) continue;
    const Json* before = reference_to(known, key);
    references.push_back(before == nullptr ? config_reference({key, {}}) : *before);
  }
  return references;
}

/// The default configurations, replaced by type by those of the placement.
std::vector<ConfigKey> placement_configs(const Json& defaults, const Json& placement) {
  std::map<GroupResource, std::vector<ConfigKey>> by_type;
  const auto add = [](std::vector<ConfigKey>& keys, ConfigKey key) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(std::move(key));
  };
  for (const Json& reference : defaults) {
    if (const std::optional<DesiredConfig> config = config_of(reference)) add(by_type[config->key.type], config->key);
  }
  std::set<GroupResource> replaced;
  for (const Json& entry : list_at(placement, {"configs"})) {
    ConfigKey key = config_key(entry);
    std::vector<ConfigKey>& keys = by_type[key.type];
    if (replaced.insert(key.type).second) keys.clear();
    add(keys, std::move(key));
  }
  std::vector<ConfigKey> configs;
  for (auto& [type, keys] : by_type) configs.insert(configs.end(), keys.begin(), keys.end());
  return configs;
}

Json progression_of(const Json& declaration, const Json& defaults, const Json& placement) {
  Json progression = Json::object({{"namespace", str(placement, {"namespace"})}, {"name", str(placement, {"name"})}});
  Json before;
  for (const Json& known : list_at(declaration, {"status", "installProgressions"})) {
    if (str(known, {"namespace"}) == str(placement, {"namespace"}) && str(known, {"name"}) == str(placement, {"name"})) {
      before = known;
    }
  }
  const Json& known = list_at(before, {"configReferences"});
  const std::vector<ConfigKey> configs = placement_configs(defaults, placement);
  const bool carried =
      std::all_of(configs.begin(), configs.end(), [&](const ConfigKey& key) { return reference_to(known, key) != nullptr; });
  Json references = Json::array();
  for (const ConfigKey& key : configs) references.push_back(carried ? *reference_to(known, key) : config_reference({key, {}}));
  if (!references.empty()) progression["configReferences"] = std::move(references);
  if (carried && !list_at(before, {"conditions"}).empty()) progression["conditions"] = list_at(before, {"conditions"});
  return progression;
}

void set_or_erase(Json& object, Path path, Json value) {
  if (value.empty()) {
    erase_at(object, path);
  } else {
    at_or_make(object, path) = std::move(value);
  }
}

void refresh_hashes(Json& references, const ObjectReader& objects, const KnownTypes& known) {
  for (Json& reference : references) {
    const std::optional<DesiredConfig> config = config_of(reference);
    if (!config) continue;
    if (const std::optional<std::string> hash = live_hash(objects, known, config->key)) {
      reference["desiredConfig"]["specHash"] = *hash;
    }
  }
}

}  // namespace

void set_progressions(Json& declaration) {
  const Json defaults = default_references(declaration);
  set_or_erase(declaration, {"status", "defaultConfigReferences"}, defaults);
  const bool by_placements = is_installed_by_placements(declaration);
  if (is_managed(declaration) || !by_placements) {
    Json progressions = Json::array();
    if (by_placements) {
      for (const Json& placement : list_at(declaration, {"spec", "installStrategy", "placements"})) {
        progressions.push_back(progression_of(declaration, defaults, placement));
      }
    }
    set_or_erase(declaration, {"status", "installProgressions"}, std::move(progressions));
  }
  if (object_at(declaration, {"status"}).empty()) declaration.erase("status");
}

void set_desired_hashes(Json& declaration, const ObjectReader& objects, const KnownTypes& known) {
  if (find(declaration, {"status"}) == nullptr) return;
  Json& status = declaration["status"];
  if (!list_at(status, {"defaultConfigReferences"}).empty()) refresh_hashes(status["defaultConfigReferences"], objects, known);
  if (list_at(status, {"installProgressions"}).empty()) return;
  for (Json& progression : status["installProgressions"]) {
    if (!list_at(progression, {"configReferences"}).empty()) refresh_hashes(progression["configReferences"], objects, known);
  }
}

void observe_configs(Json& addon, const ObjectReader& objects, const KnownTypes& known, rollout::Semantics conduct) {
  if (list_at(addon, {"status", "configReferences"}).empty()) return;
  std::set<ConfigKey> own;
  for (const Json& entry : list_at(addon, {"spec", "configs"})) own.insert(config_key(entry));
  for (Json& reference : addon["status"]["configReferences"]) {
    const std::optional<DesiredConfig> config = config_of(reference);
    if (!config || !known(config->key.type)) continue;
    const ObjectPtr object = objects.get(config->key.type, config->key.ns, config->key.name);
    if (!object) continue;
    reference["lastObservedGeneration"] = num(*object, {"metadata", "generation"});
    if (conduct == rollout::Semantics::kUpstream && own.contains(config->key)) {
      reference["desiredConfig"]["specHash"] = live_hash(objects, known, config->key).value_or("");
    }
  }
}

}  // namespace fleetadm::addon
