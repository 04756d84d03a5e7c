#include <utility>

#include "commands/plugin/plugin.h"
#include "commands/plugin/search.h"

namespace fleetadm::commands {
namespace {

struct PluginListOptions {};

Report plugin_report(const std::vector<Plugin>& plugins) {
  Report report;
  report.table = Table{{{"COMMAND"}, {"STATUS"}, {"PATH"}}, {}, "No plugins found on PATH."};
  Json items = Json::array();
  for (const Plugin& plugin : plugins) {
    report.table->rows.push_back({"fleetadm " + plugin.command, plugin.problem.empty() ? "OK" : plugin.problem, plugin.path});
    report.names.push_back(plugin.path);
    Json item = {{"command", plugin.command}, {"path", plugin.path}, {"usable", plugin.problem.empty()}};
    if (!plugin.problem.empty()) item["problem"] = plugin.problem;
    items.push_back(std::move(item));
  }
  report.data = {{"kind", "PluginList"}, {"items", std::move(items)}};
  return report;
}

}  // namespace

void register_plugin(Registry& registry, std::function<bool(const std::string&)> is_builtin) {
  Command command;
  command.path = "plugin list";
  command.group = "Other";
  command.target = Target::kSilent;
  command.summary = "List the plugins on PATH";
  command.description =
      "A plugin is an executable named fleetadm-NAME in an absolute folder of PATH: \"fleetadm NAME\" runs it with the "
      "arguments after the name, its environment is fleetadm's, and its exit code is kept. \"fleetadm a b-c\" runs the "
      "longest name that exists: fleetadm-a-b_c, else fleetadm-a.\n\n"
      "Built-in commands and aliases come first; flags cannot stand before a plugin's name. fleetadm_complete-NAME, if "
      "there is one, prints the completions of its arguments, one per line, as kubectl's plugins do.\n\n"
      "Lists every plugin that is found, and why one is never run: not executable, hidden by a built-in command, or "
      "shadowed by one of the same name in an earlier folder.";
  command.examples = {{"The plugins and whether they can be run", "fleetadm plugin list"}};
  command.make = invocation<PluginListOptions>(
      [](FlagSet&, PluginListOptions&) {}, [](const PluginListOptions&, const std::vector<std::string>&) -> Status { return {}; },
      [is_builtin = std::move(is_builtin)](Context& context, const PluginListOptions&,
                                           const std::vector<std::string>&) -> Result<Report> {
        const std::vector<Plugin> plugins = list_plugins(context.env("PATH"), is_builtin);
        for (const Plugin& plugin : plugins)
          if (!plugin.problem.empty()) context.progress().warn(plugin.path + ": " + plugin.problem);
        return plugin_report(plugins);
      });
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
