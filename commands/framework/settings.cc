#include "commands/framework/settings.h"

#include <algorithm>
#include <array>

#include "commands/framework/command.h"
#include "commands/framework/suggest.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/config/plugin_policy.h"

namespace fleetadm::commands {
namespace {

const std::vector<SettingKey>& keys() {
  static const std::vector<SettingKey> all = {
      {"hubContext",
       "FLEETADM_HUB_CONTEXT",
       SettingType::kText,
       {},
       "",
       "kubeconfig context of the hub, for commands that work on a hub and have neither --context nor --kubeconfig",
       "context"},
      {"output",
       "FLEETADM_OUTPUT",
       SettingType::kChoice,
       {"table", "wide", "json", "yaml", "name"},
       "table",
       "output format",
       "output"},
      {"color",
       "FLEETADM_COLOR",
       SettingType::kChoice,
       {"auto", "always", "never"},
       "auto",
       "use of colors; NO_COLOR and CLICOLOR_FORCE take precedence over the file",
       "color"},
      {"confirm",
       "FLEETADM_CONFIRM",
       SettingType::kBoolean,
       {"true", "false"},
       "true",
       "false answers confirmation prompts as --yes does; it never stands for --allow-removals",
       ""},
      {"requestTimeout",
       "FLEETADM_REQUEST_TIMEOUT",
       SettingType::kDuration,
       {},
       "0s",
       "maximum time to wait for each server response (0: the default, 32s)",
       "request-timeout"},
      {"pager",
       "FLEETADM_PAGER",
       SettingType::kText,
       {},
       "",
       "command that shows help and descriptions longer than the screen; cat: none; without it PAGER, else less",
       ""},
      {"plugins",
       "FLEETADM_PLUGINS",
       SettingType::kBoolean,
       {"true", "false"},
       "true",
       "whether commands may come from PATH (see \"fleetadm plugin list --help\")",
       ""},
      {"credentialPluginPolicy",
       kube::kPluginPolicyVariable,
       SettingType::kChoice,
       {"AllowAll", "DenyAll", "Allowlist"},
       "AllowAll",
       "which exec credential plugins of kubeconfigs may run",
       ""},
      {"credentialPluginAllowlist",
       kube::kPluginAllowlistVariable,
       SettingType::kList,
       {},
       "",
       "names and absolute paths of the credential plugins that may run with the policy Allowlist",
       ""},
  };
  return all;
}

bool is_alias_name(std::string_view name) {
  return !name.empty() && is_lower_alnum(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_lower_alnum(c) || c == '-'; });
}

/// The items of "a,b".
Result<Json> list_value(std::string_view text) {
  Json items = Json::array();
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string item(trimmed(text.substr(0, comma)));
    FLEETADM_CHECK(kube::check_allowlist_entry(item));
    items.push_back(item);
    if (comma == text.size()) return items;
    text.remove_prefix(comma + 1);
  }
}

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

/// What a variable that is not fleetadm's own says of a setting; both take precedence over the file.
std::optional<Setting> shared_variable(const SettingKey& key, const Environment& environment) {
  if (key.name != "color") return std::nullopt;
  if (!environment("NO_COLOR").empty()) return Setting{"color", "auto", Origin::kEnvironment, "NO_COLOR"};
  const std::string force = environment("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return Setting{"color", "auto", Origin::kEnvironment, "CLICOLOR_FORCE"};
  return std::nullopt;
}

Result<Setting> resolved(const SettingKey& key, const ConfigFile& file, const Environment& environment) {
  Setting setting{std::string(key.name), nullptr, Origin::kDefault, ""};
  if (const std::string text = environment(key.variable); !text.empty()) {
    auto value = setting_value(&key, text);
    if (!value) return fail(value.error().wrap(key.variable));
    setting.value = std::move(*value);
    setting.origin = Origin::kEnvironment;
    setting.source = key.variable;
    return setting;
  }
  if (auto shared = shared_variable(key, environment)) return *shared;
  if (const auto entry = file.entries.find(setting.key); entry != file.entries.end()) {
    setting.value = entry->second.value;
    setting.origin = Origin::kFile;
    setting.source = file.path + ":" + std::to_string(entry->second.line);
    return setting;
  }
  if (const std::string pager = environment("PAGER"); key.name == "pager" && !pager.empty()) {
    setting.value = pager;
    setting.origin = Origin::kEnvironment;
    setting.source = "PAGER";
    return setting;
  }
  if (!key.default_text.empty()) {
    FLEETADM_TRY(setting.value, setting_value(&key, key.default_text));
  }
  return setting;
}

}  // namespace

std::span<const SettingKey> setting_keys() { return keys(); }

std::vector<std::string> setting_names() {
  std::vector<std::string> names;
  for (const SettingKey& key : keys()) names.emplace_back(key.name);
  names.emplace_back(kAliasPrefix);
  return names;
}

Result<const SettingKey*> find_setting(std::string_view name) {
  for (const SettingKey& key : keys())
    if (key.name == name) return &key;
  if (name.starts_with(kAliasPrefix)) {
    const std::string_view alias = name.substr(kAliasPrefix.size());
    if (is_alias_name(alias)) return nullptr;
    return fail(Category::kUsage, "\"" + std::string(alias) + "\" is not a valid name for an alias",
                "use lowercase letters, digits and '-'");
  }
  return fail(Category::kUsage, "unknown key \"" + std::string(name) + "\"",
              did_you_mean(name, setting_names(), "\"fleetadm config view\" lists the keys"));
}

Result<Json> setting_value(const SettingKey* key, std::string_view text) {
  const std::string value(text);
  if (text.empty()) return fail(Category::kUsage, "the value is empty");
  if (has_control_characters(text)) return fail(Category::kUsage, "the value contains a line break or control character");
  if (key == nullptr) {
    FLEETADM_TRY(const std::vector<std::string> words, alias_words(text));
    if (words.empty()) return fail(Category::kUsage, "the alias is empty", "name a command, for example: get clusters -o wide");
    return Json(value);
  }
  if (key->type == SettingType::kDuration) {
    Duration unused = Duration::zero();
    FlagSet flags;
    FLEETADM_CHECK(flags.duration(&unused, "d", "d").set(text));
    return Json(value);
  }
  if (key->type == SettingType::kList) return list_value(text);
  if (!key->values.empty() && std::find(key->values.begin(), key->values.end(), text) == key->values.end()) {
    return fail(Category::kUsage, "\"" + value + "\" is not one of " + joined(key->values, ", "),
                did_you_mean(text, key->values));
  }
  if (key->type == SettingType::kBoolean) return Json(text == "true");
  return Json(value);
}

Result<std::vector<std::string>> alias_words(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (const char c : text) {
    if (quote == 0 && is_space(c)) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) return fail(Category::kUsage, std::string("a quote (") + quote + ") is not closed");
  return words;
}

std::string_view to_string(Origin origin) {
  switch (origin) {
    case Origin::kDefault: return "default";
    case Origin::kFile: return "file";
    case Origin::kEnvironment: return "environment";
    case Origin::kFlag: return "flag";
  }
  return "default";
}

std::string Setting::text() const {
  if (value.is_null()) return {};
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_string()) return value.get<std::string>();
  std::vector<std::string> items;
  for (const Json& item : value) items.push_back(item.get<std::string>());
  return joined(items);
}

std::string config_path(const Environment& environment) {
  if (std::string path = environment("FLEETADM_CONFIG"); !path.empty()) return path;
  constexpr std::string_view kName = "/fleetadm/config.yaml";
  // A relative path there is invalid by the XDG specification: it would depend on the working directory.
  if (const std::string folder = environment("XDG_CONFIG_HOME"); folder.starts_with('/')) return folder + std::string(kName);
  if (const std::string home = environment("HOME"); !home.empty()) return home + "/.config" + std::string(kName);
  return {};
}

Result<Settings> Settings::load(const Environment& environment) {
  const std::string path = config_path(environment);
  FLEETADM_TRY(ConfigFile file, read_config(path));
  if (!file.exists && !environment("FLEETADM_CONFIG").empty()) {
    return fail(Category::kUsage, "FLEETADM_CONFIG: there is no file " + path, "create it with: fleetadm config set KEY VALUE");
  }
  return of(std::move(file), environment);
}

Result<Settings> Settings::of(ConfigFile file, const Environment& environment) {
  Settings settings;
  for (const SettingKey& key : keys()) {
    FLEETADM_TRY(Setting setting, resolved(key, file, environment));
    settings.settings_.push_back(std::move(setting));
  }
  for (const auto& [name, entry] : file.entries) {
    if (name.starts_with(kAliasPrefix))
      settings.settings_.push_back({name, entry.value, Origin::kFile, file.path + ":" + std::to_string(entry.line)});
  }
  settings.file_ = std::move(file);
  return settings;
}

const Setting* Settings::find(std::string_view key) const {
  const auto found = std::find_if(settings_.begin(), settings_.end(), [&](const Setting& one) { return one.key == key; });
  return found == settings_.end() ? nullptr : &*found;
}

}  // namespace fleetadm::commands
