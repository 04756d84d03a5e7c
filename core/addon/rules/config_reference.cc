#include "core/addon/rules/config_reference.h"

#include <algorithm>

#include "core/addon/rules/config_hash.h"
#include "core/addon/rules/names.h"

namespace fleetadm::addon {

std::string ConfigKey::text() const { return type.qualified() + " " + (ns.empty() ? "" : ns + "/") + name; }

std::size_t count_of(const DesiredConfigs& configs) {
  std::size_t count = 0;
  for (const auto& [type, of_type] : configs) count += of_type.size();
  return count;
}

const DesiredConfig* find_config(const DesiredConfigs& configs, const ConfigKey& key) {
  const auto of_type = configs.find(key.type);
  if (of_type == configs.end()) return nullptr;
  const auto found = std::find_if(of_type->second.begin(), of_type->second.end(),
                                  [&](const DesiredConfig& config) { return config.key == key; });
  return found == of_type->second.end() ? nullptr : &*found;
}

ConfigKey config_key(const Json& entry) {
  return {{str(entry, {"group"}), str(entry, {"resource"})}, str(entry, {"namespace"}), str(entry, {"name"})};
}

std::optional<DesiredConfig> config_of(const Json& reference, std::string_view member) {
  const Json* config = find(reference, {member});
  if (config == nullptr || !config->is_object()) return std::nullopt;
  return DesiredConfig{
      {{str(reference, {"group"}), str(reference, {"resource"})}, str(*config, {"namespace"}), str(*config, {"name"})},
      str(*config, {"specHash"})};
}

Json to_json(const DesiredConfig& config) {
  Json object = Json::object({{"name", config.key.name}, {"specHash", config.hash}});
  if (!config.key.ns.empty()) object["namespace"] = config.key.ns;
  return object;
}

Json config_reference(const DesiredConfig& config) {
  return Json::object(
      {{"group", config.key.type.group}, {"resource", config.key.type.resource}, {"desiredConfig", to_json(config)}});
}

std::optional<std::string> live_hash(const ObjectReader& objects, const KnownTypes& known, const ConfigKey& key) {
  if (!known(key.type)) return std::nullopt;
  const ObjectPtr object = objects.get(key.type, key.ns, key.name);
  return object == nullptr ? std::string() : config_spec_hash(*object);
}

bool is_managed(const Json& declaration) {
  const Json* by = find(declaration, {"metadata", "annotations", kLifecycleAnnotation});
  return by == nullptr || *by == "addon-manager";
}

}  // namespace fleetadm::addon
