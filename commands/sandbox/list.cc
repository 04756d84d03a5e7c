// fleetadm sandbox list, kubeconfig.
#include <algorithm>
#include <fstream>
#include <iterator>

#include "commands/framework/dry_run.h"
#include "commands/sandbox/home.h"
#include "commands/sandbox/sandbox.h"
#include "core/sandbox/fleet/home.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::commands {
namespace {

struct NoOptions {};

Result<Report> list_sandboxes(Context& context, const NoOptions& /*options*/, const std::vector<std::string>& names) {
  FLEETADM_TRY(const auto home, sandbox_home(context));
  Report report;
  report.data = {{"kind", "SandboxList"}, {"items", Json::array()}};
  Table table;
  table.columns = {{"NAME", false}, {"STATUS", false}, {"CLUSTERS", false}, {"PID", true}, {"KUBECONFIG", true}};
  table.empty_text = "No sandboxes found.";
  for (const auto& name : home.names()) {
    if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end()) continue;
    const Json description = home.description(name);
    const auto process = home.running(name);
    const auto count = list_at(description, {"clusters"}).size();
    report.data["items"].push_back({{"name", name},
                                    {"running", process.has_value()},
                                    {"clusters", list_at(description, {"clusters"})},
                                    {"kubeconfig", home.kubeconfig(name).string()}});
    table.rows.push_back({name, process ? "Running" : "Stopped", std::to_string(count),
                          process ? std::to_string(process->pid) : "", home.kubeconfig(name).string()});
    report.names.push_back("sandbox/" + name);
  }
  report.table = std::move(table);
  for (const std::string& name : names) {
    if (home.description(name).is_object()) continue;
    auto missing = no_sandbox(home, name);
    if (names.size() == 1) return missing;
    report.failures.push_back(std::move(missing.value()));
  }
  return report;
}

Command list_command() {
  Command command;
  command.path = "sandbox list";
  command.target = Target::kSilent;
  command.group = "Sandbox";
  command.summary = "List the sandboxes on this machine";
  command.args = {"[NAME...]", 0, -1, false, Complete::kSandboxes};
  command.aliases = {"sandbox get", "get sandboxes", "get sandbox"};
  command.examples = {{"All of them", "fleetadm sandbox list"}};
  command.make = invocation<NoOptions>(
      [](FlagSet&, NoOptions&) {}, [](const NoOptions&, const std::vector<std::string>&) { return Status{}; }, list_sandboxes);
  return command;
}

struct KubeconfigOptions : NamedSandbox {
  std::string merge;
};

Result<Report> kubeconfig(Context& context, const KubeconfigOptions& options) {
  FLEETADM_TRY(const auto home, sandbox_home(context));
  std::ifstream in(home.kubeconfig(options.name), std::ios::binary);
  if (!in) return no_sandbox(home, options.name);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (options.merge.empty()) {
    context.terminal().write_stdout(text);
    return Report{};
  }
  FLEETADM_CHECK(refuse_dry_run(context, "sandbox kubeconfig --merge"));
  FLEETADM_TRY(const Json document, parse_yaml(text));
  FLEETADM_CHECK(kube::merge_kubeconfig(options.merge, document));
  Report report;
  report.data = {{"kind", "SandboxReport"}, {"name", options.name}, {"merged", options.merge}};
  report.notes = {"Contexts of sandbox \"" + options.name + "\" were merged into " + options.merge + "."};
  return report;
}

Command kubeconfig_command() {
  Command command;
  command.path = "sandbox kubeconfig";
  command.target = Target::kSilent;
  command.group = "Sandbox";
  command.summary = "Print a sandbox's kubeconfig, or merge it into another";
  command.examples = {{"Use it in this shell", "fleetadm sandbox kubeconfig > sandbox.kubeconfig"},
                      {"Add its contexts to another file", "fleetadm sandbox kubeconfig --merge ~/.kube/config"}};
  command.args = sandbox_argument();
  command.make = sandbox_invocation<KubeconfigOptions>(
      [](FlagSet& flags, KubeconfigOptions& options) {
        Flag& merge = flags.text(&options.merge, "merge", "kubeconfig file to add the contexts to, instead of printing them");
        merge.value_name = "FILE";
        merge.complete = Complete::kFiles;
      },
      check_sandbox, kubeconfig);
  return command;
}

}  // namespace

void register_sandbox_lists(Registry& registry) {
  registry.add(list_command());
  registry.add(kubeconfig_command());
}

}  // namespace fleetadm::commands
