#include "cli/configured.h"

#include <algorithm>
#include <array>

#include "cli/argv/lookup.h"
#include "commands/framework/suggest.h"
#include "kubeclient/config/files.h"
#include "kubeclient/config/plugin_policy.h"

namespace fleetadm::cli {
namespace {

using commands::Command;
using commands::Flag;
using commands::Origin;
using commands::Registry;
using commands::Setting;
using commands::Settings;

bool given(const NormalArgv& argv, std::string_view name) {
  const std::string flag = "--" + std::string(name);
  return std::any_of(argv.flags.begin(), argv.flags.end(),
                     [&](const std::string& word) { return word == flag || word.starts_with(flag + "="); });
}

/// Whether the flag is the one that every command has, not a command's own of the same name.
bool is_global(const Flag& flag, const commands::FlagSet& globals) {
  return std::any_of(globals.flags().begin(), globals.flags().end(), [&](const Flag& one) { return &one == &flag; });
}

}  // namespace

Result<Settings> load_settings() {
  return Settings::load([](std::string_view name) { return kube::environment(std::string(name).c_str()); });
}

bool takes_settings(const Command& command) {
  static constexpr std::array<std::string_view, 4> kWithout = {"help", "options", "completion", "__generate"};
  return !command.path.starts_with("config ") && std::find(kWithout.begin(), kWithout.end(), command.path) == kWithout.end();
}

bool is_builtin_word(const Registry& registry, std::string_view word) {
  return registry.find(word) != nullptr || is_group(registry, word);
}

std::size_t first_plain_word(const std::vector<std::string>& words, const FlagList& globals) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "--") break;
    if (word.size() < 2 || word[0] != '-') return at;
    if (takes_next_word(word, globals)) ++at;
  }
  return words.size();
}

Result<std::vector<std::string>> expand_alias(const Registry& registry, const Settings& settings, std::vector<std::string> words,
                                              const FlagList& globals) {
  const std::size_t at = first_plain_word(words, globals);
  if (at == words.size() || is_builtin_word(registry, words[at])) return words;
  const Setting* alias = settings.find(std::string(commands::kAliasPrefix) + words[at]);
  if (alias == nullptr) return words;
  FLEETADM_TRY(const std::vector<std::string> meant, commands::alias_words(alias->text()));
  if (!is_builtin_word(registry, meant.front())) {
    return fail(Category::kUsage,
                alias->source + ": " + alias->key + " does not begin with a built-in command: \"" + meant.front() + "\"",
                commands::did_you_mean(meant.front(), words_under(registry, ""), "\"fleetadm --help\" lists the commands"));
  }
  const auto place = words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
  words.insert(place, meant.begin(), meant.end());
  return words;
}

Registry with_aliases(const Registry& registry, const Settings& settings) {
  Registry all = registry;
  for (const Setting& one : settings.all()) {
    if (!one.key.starts_with(commands::kAliasPrefix)) continue;
    Command row;
    row.path = one.key.substr(commands::kAliasPrefix.size());
    if (is_builtin_word(registry, row.path)) continue;
    row.summary = "Alias of " + one.text();
    row.make = [] { return commands::Invocation{}; };
    all.add(std::move(row));
  }
  return all;
}

Status apply_settings(const Settings& settings, const Command& command, const NormalArgv& argv, const FlagList& flags,
                      const commands::FlagSet& globals) {
  if (!takes_settings(command) || command.group == "Programs") return {};
  for (const commands::SettingKey& key : commands::setting_keys()) {
    const Setting* setting = settings.find(key.name);
    if (setting == nullptr || setting->origin == Origin::kDefault || setting->value.is_null()) continue;
    if (key.name == "hubContext" && (command.target != commands::Target::kHub || given(argv, "kubeconfig"))) continue;
    // A setting of the same meaning as a command's own flag: confirm is --yes turned round.
    const bool confirm = key.name == "confirm";
    const std::string_view name = confirm ? "yes" : key.flag;
    if (name.empty() || given(argv, name)) continue;
    const Flag* flag = flag_named(flags, name);
    if (flag == nullptr || (!confirm && !is_global(*flag, globals))) continue;
    FLEETADM_CHECK(flag->set(confirm ? (setting->value == false ? "true" : "false") : setting->text()));
  }
  return {};
}

void apply_plugin_policy(const Settings& settings) {
  kube::CredentialPluginPolicy policy;
  if (const auto kind = kube::parse_plugin_policy(settings.find("credentialPluginPolicy")->text())) policy.kind = *kind;
  for (const Json& entry : settings.find("credentialPluginAllowlist")->value)
    policy.allowlist.push_back(entry.get<std::string>());
  kube::set_credential_plugin_policy(std::move(policy));
}

Error with_origin_of_context(Error error, const Settings& settings, const commands::GlobalOptions& globals) {
  const Setting* setting = settings.find("hubContext");
  if (error.category != Category::kUsage || setting == nullptr || setting->source.empty()) return error;
  const std::string& context = globals.config.context;
  if (context.empty() || context != setting->text() || error.message.find("\"" + context + "\"") == std::string::npos)
    return error;
  error.message += " (hubContext of " + setting->source + ")";
  return error;
}

}  // namespace fleetadm::cli
