// The settings of the user: which there are, and what each is by the environment, the configuration file and its default.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "commands/framework/settings_file.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::commands {

enum class SettingType { kText, kChoice, kBoolean, kDuration, kList };

struct SettingKey {
  std::string_view name;      // "hubContext"
  std::string_view variable;  // "FLEETADM_HUB_CONTEXT"
  SettingType type = SettingType::kText;
  std::vector<std::string> values;  // kChoice and kBoolean: the allowed ones
  std::string_view default_text;    // empty: none
  std::string_view summary;         // as a flag's help
  std::string_view flag;            // the global flag that it is the default of; empty: none
};

/// All keys but the aliases, which are named by the user.
std::span<const SettingKey> setting_keys();
/// The names of all keys, and "aliases.".
std::vector<std::string> setting_names();

inline constexpr std::string_view kAliasPrefix = "aliases.";

/// A key that may stand in the file: one of setting_keys(), or "aliases.NAME". kUsage with the nearest one for any other; the
/// pointer is null for an alias.
Result<const SettingKey*> find_setting(std::string_view name);
/// The value that a text stands for (JSON of the key's type, the items of a list between commas; null `key`: an alias). kUsage
/// says what is allowed.
Result<Json> setting_value(const SettingKey* key, std::string_view text);
/// The words of an alias; single and double quotes keep blanks. kUsage for an open quote.
Result<std::vector<std::string>> alias_words(std::string_view text);

enum class Origin { kDefault, kFile, kEnvironment, kFlag };
std::string_view to_string(Origin origin);

struct Setting {
  std::string key;
  Json value;  // null: not set, and no default
  Origin origin = Origin::kDefault;
  std::string source;  // the variable, "FILE:LINE", or the flag; empty for a default

  /// "true", "30s", "json", "a,b"; empty for null.
  std::string text() const;
};

/// Reads a variable of the environment; empty where unset.
using Environment = std::function<std::string(std::string_view)>;

/// $FLEETADM_CONFIG, else fleetadm/config.yaml in $XDG_CONFIG_HOME or ~/.config; empty where none of them is set.
std::string config_path(const Environment& environment);

/// What applies to a command that has no flags.
class Settings {
 public:
  /// Reads the file that config_path() names. No file is an empty one, but for $FLEETADM_CONFIG: what is named must exist.
  /// kUsage names the file and the line, or the variable.
  static Result<Settings> load(const Environment& environment);
  static Result<Settings> of(ConfigFile file, const Environment& environment);

  /// Every key in the order of setting_keys(), then the aliases.
  const std::vector<Setting>& all() const { return settings_; }
  /// The setting of a key of setting_keys() or an alias; null where there is no such alias.
  const Setting* find(std::string_view key) const;
  const ConfigFile& file() const { return file_; }

 private:
  ConfigFile file_;
  std::vector<Setting> settings_;
};

}  // namespace fleetadm::commands
