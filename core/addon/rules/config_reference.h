// Configurations of add-ons, as specs name them and statuses refer to them (docs/reference/addon.md#configuration).
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/addon/rules/object_reader.h"

namespace fleetadm::addon {

/// The name of an entry of spec.defaultConfigs that declares a type as supported and gives no default.
inline constexpr std::string_view kNoDefaultName = "__reserved_no_default__";

/// Which object. `ns` is empty for cluster-scoped types.
struct ConfigKey {
  GroupResource type;
  std::string ns;
  std::string name;

  auto operator<=>(const ConfigKey&) const = default;
  /// "addondeploymentconfigs.addon.open-cluster-management.io ns/name".
  std::string text() const;
};

/// An object and the content that it is to have; the hash of an object that does not exist is empty.
struct DesiredConfig {
  ConfigKey key;
  std::string hash;

  bool operator==(const DesiredConfig&) const = default;
};

/// By type, so that a more special level replaces all configurations of a type.
using DesiredConfigs = std::map<GroupResource, std::vector<DesiredConfig>>;
std::size_t count_of(const DesiredConfigs& configs);
const DesiredConfig* find_config(const DesiredConfigs& configs, const ConfigKey& key);

/// {"group", "resource", "namespace", "name"}, as spec.configs has them.
ConfigKey config_key(const Json& entry);
/// The member desiredConfig (or another) of a reference; nullopt: it has none.
std::optional<DesiredConfig> config_of(const Json& reference, std::string_view member = "desiredConfig");
/// {"name", "namespace", "specHash"}.
Json to_json(const DesiredConfig& config);
/// A reference to it, without what was applied.
Json config_reference(const DesiredConfig& config);

/// Which types' objects are known: of another type's objects nothing is said, not even that they do not exist.
using KnownTypes = std::function<bool(const GroupResource& type)>;
/// The hash of the object as it is; empty: there is none; nullopt: its type is not known.
std::optional<std::string> live_hash(const ObjectReader& objects, const KnownTypes& known, const ConfigKey& key);

/// Whether the hub's add-on manager looks after the installation and the configuration of an add-on.
bool is_managed(const Json& declaration);

}  // namespace fleetadm::addon
