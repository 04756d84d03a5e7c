#include "commands/config/config.h"

#include <algorithm>
#include <utility>

#include "commands/framework/dry_run.h"
#include "commands/framework/settings.h"
#include "commands/framework/suggest.h"

namespace fleetadm::commands {
namespace {

using IsBuiltin = std::function<bool(std::string_view)>;

struct ConfigViewOptions {
  bool origin = false;
};
struct ConfigNoOptions {};

Environment variables_of(const Context& context) {
  return [&context](std::string_view name) { return context.env(name); };
}

/// What a flag of this very command has made of a setting.
std::optional<Setting> from_flag(const Setting& setting, const GlobalOptions& globals) {
  const auto differs = [&](std::string_view key, const std::string& value) {
    return setting.key == key && !value.empty() && value != setting.text();
  };
  Setting flag{setting.key, nullptr, Origin::kFlag, ""};
  if (differs("hubContext", globals.config.context)) {
    flag.value = globals.config.context;
    flag.source = "--context";
  } else if (differs("output", globals.output)) {
    flag.value = globals.output;
    flag.source = "--output";
  } else if (differs("color", globals.color)) {
    flag.value = globals.color;
    flag.source = "--color";
  } else {
    return std::nullopt;
  }
  return flag;
}

Json document_of(const ConfigFile& file, const std::vector<Setting>& settings) {
  Json items = Json::array();
  for (const Setting& one : settings) {
    Json item = {{"key", one.key}, {"value", one.value}, {"origin", std::string(to_string(one.origin))}};
    if (!one.source.empty()) item["source"] = one.source;
    items.push_back(std::move(item));
  }
  return {{"kind", "ConfigSettings"}, {"file", file.path}, {"items", std::move(items)}};
}

/// Notes on aliases that are never used.
void note_shadowed(const std::vector<Setting>& settings, const IsBuiltin& is_builtin, Report& report) {
  for (const Setting& one : settings) {
    if (!one.key.starts_with(kAliasPrefix)) continue;
    const std::string name = one.key.substr(kAliasPrefix.size());
    if (is_builtin(name))
      report.notes.push_back(one.source + ": " + one.key + " is not used: " + name + " is a built-in command.");
  }
}

Result<Report> view_config(Context& context, const ConfigViewOptions& options, const IsBuiltin& is_builtin) {
  FLEETADM_TRY(const Settings settings, Settings::load(variables_of(context)));
  std::vector<Setting> shown = settings.all();
  Table table;
  table.columns = {{"KEY"}, {"VALUE"}};
  if (options.origin) table.columns.insert(table.columns.end(), {{"ORIGIN"}, {"SOURCE"}});
  Report report;
  for (Setting& one : shown) {
    if (auto flag = from_flag(one, context.global())) one = std::move(*flag);
    std::vector<std::string> row{one.key, one.value.is_null() ? "<none>" : one.text()};
    if (options.origin) {
      row.emplace_back(to_string(one.origin));
      row.push_back(one.source.empty() ? "<none>" : one.source);
    }
    table.rows.push_back(std::move(row));
    report.names.push_back(one.key);
  }
  report.data = document_of(settings.file(), shown);
  report.table = std::move(table);
  note_shadowed(shown, is_builtin, report);
  return report;
}

Result<Report> get_config(Context& context, const ConfigNoOptions&, const std::vector<std::string>& args) {
  const std::string& key = args.front();
  FLEETADM_CHECK(find_setting(key));
  FLEETADM_TRY(const Settings settings, Settings::load(variables_of(context)));
  const Setting* setting = settings.find(key);
  if (setting == nullptr) {
    std::vector<std::string> known;
    for (const Setting& one : settings.all()) {
      if (one.key.starts_with(kAliasPrefix)) known.push_back(one.key.substr(kAliasPrefix.size()));
    }
    const std::string name = key.substr(kAliasPrefix.size());
    return fail(Category::kNotFound, "there is no alias \"" + name + "\"",
                did_you_mean(name, known, "\"fleetadm config view\" lists the aliases"));
  }
  Report report;
  report.data = document_of(settings.file(), {*setting});
  report.names.push_back(key);
  if (setting->value.is_null()) {
    report.notes.push_back(key + " is not set.");
  } else {
    report.lines.push_back(setting->text());
  }
  return report;
}

Status check_alias(const std::string& key, const Json& value, const IsBuiltin& is_builtin) {
  if (!key.starts_with(kAliasPrefix)) return {};
  const std::string name = key.substr(kAliasPrefix.size());
  if (is_builtin(name))
    return fail(Category::kUsage, "\"" + name + "\" is a built-in command; an alias cannot replace it", "use another name");
  FLEETADM_TRY(const auto words, alias_words(value.get<std::string>()));
  if (is_builtin(words.front())) return {};
  return fail(Category::kUsage, "an alias must begin with a built-in command; \"" + words.front() + "\" is not one",
              "write it without \"fleetadm\", for example: get clusters -o wide");
}

/// `value`: nullopt removes the key.
Result<Report> write_config(Context& context, const std::string& key, const std::optional<Json>& value) {
  const Environment environment = variables_of(context);
  const std::string path = config_path(environment);
  if (path.empty()) {
    return fail(Category::kUsage, "there is no place for a configuration file", "set FLEETADM_CONFIG, XDG_CONFIG_HOME or HOME");
  }
  FLEETADM_TRY(const bool changed, change_config(path, key, value, !is_dry(context)));
  Report report;
  report.data = {{"kind", "ConfigChange"}, {"file", path}, {"key", key}, {"value", value.value_or(Json())}, {"changed", changed}};
  if (is_dry(context)) report.data["dryRun"] = true;
  report.names.push_back(key);
  const std::string outcome = !changed ? "unchanged" : value ? "set" : "removed";
  report.lines.push_back(key + " " + outcome + " in " + path + dry_run_mark(context));
  if (const auto setting = find_setting(key); setting && *setting != nullptr && !environment((*setting)->variable).empty())
    report.notes.push_back(std::string((*setting)->variable) + " is set and takes precedence over the file.");
  return report;
}

Args key_argument(std::string usage, int count) {
  Args args{std::move(usage), count, count};
  args.complete = Complete::kValues;
  args.values = setting_names();
  return args;
}

Command config_row(std::string name, std::string summary) {
  Command command;
  command.path = "config " + std::move(name);
  command.group = "Other";
  command.target = Target::kSilent;
  command.summary = std::move(summary);
  return command;
}

constexpr auto kBindNothing = [](FlagSet&, ConfigNoOptions&) {};
constexpr auto kCheckNothing = [](const auto&, const std::vector<std::string>&) -> Status { return {}; };

Command view_row(const IsBuiltin& is_builtin) {
  Command command = config_row("view", "Show the settings that apply, and where they come from");
  command.description =
      "Shows every setting as it applies: by a flag of this command, by its environment variable, by the "
      "configuration file, or by default. \"fleetadm help configuration\" describes the keys.";
  command.examples = {{"The settings, and what sets them", "fleetadm config view --origin"}};
  command.make = invocation<ConfigViewOptions>(
      [](FlagSet& flags, ConfigViewOptions& options) {
        flags.boolean(&options.origin, "origin", "show whether a flag, a variable, the file or the default sets each value");
      },
      kCheckNothing,
      [is_builtin](Context& context, const ConfigViewOptions& options, const auto&) {
        return view_config(context, options, is_builtin);
      });
  return command;
}

Command get_row() {
  Command command = config_row("get", "Print one setting as it applies");
  command.args = key_argument("KEY", 1);
  command.examples = {{"The hub that commands work on by default", "fleetadm config get hubContext"}};
  command.make = invocation<ConfigNoOptions>(kBindNothing, kCheckNothing, get_config);
  return command;
}

Command set_row(const IsBuiltin& is_builtin) {
  Command command = config_row("set", "Set a key of the configuration file");
  command.description =
      "Writes one key of the user's configuration file and leaves all other lines, comments included, as they are. "
      "A new file can be read by its owner only. \"fleetadm help configuration\" describes the keys.";
  command.args = key_argument("KEY VALUE", 2);
  command.examples = {{"Work on this hub by default", "fleetadm config set hubContext staging"},
                      {"An alias: \"fleetadm gc\" then lists the clusters", "fleetadm config set aliases.gc \"get clusters\""}};
  command.make = invocation<ConfigNoOptions>(
      kBindNothing, kCheckNothing,
      [is_builtin](Context& context, const ConfigNoOptions&, const std::vector<std::string>& args) -> Result<Report> {
        FLEETADM_TRY(const SettingKey* key, find_setting(args[0]));
        auto value = setting_value(key, args[1]);
        if (!value) return fail(value.error().wrap(args[0]));
        FLEETADM_CHECK(check_alias(args[0], *value, is_builtin));
        return write_config(context, args[0], *value);
      });
  return command;
}

Command unset_row() {
  Command command = config_row("unset", "Remove a key from the configuration file");
  command.args = key_argument("KEY", 1);
  command.examples = {{"Use the current context of the kubeconfig again", "fleetadm config unset hubContext"}};
  command.make = invocation<ConfigNoOptions>(
      kBindNothing, kCheckNothing,
      [](Context& context, const ConfigNoOptions&, const std::vector<std::string>& args) -> Result<Report> {
        FLEETADM_CHECK(find_setting(args[0]));
        return write_config(context, args[0], std::nullopt);
      });
  return command;
}

}  // namespace

void register_config(Registry& registry, std::function<bool(std::string_view)> is_builtin) {
  registry.add(view_row(is_builtin));
  registry.add(get_row());
  registry.add(set_row(is_builtin));
  registry.add(unset_row());
  registry.add_topic(configuration_topic());
}

}  // namespace fleetadm::commands
