// fleetadm sandbox node: a node that runs pods of fleetadm's image as processes.
#include "core/sandbox/node/node.h"

#include <algorithm>
#include <array>
#include <unistd.h>

#include "commands/framework/dry_run.h"
#include "commands/sandbox/home.h"
#include "commands/sandbox/sandbox.h"
#include "kubeclient/base/names.h"
#include "kubeclient/base/quantity.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::commands {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "sandbox-node";
  std::string result = name.data();
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return is_dns_subdomain(result) ? result : "sandbox-node";
}

void bind_node(FlagSet& flags, sandbox::NodeOptions& options) {
  options.name = host_name();
  Flag& name = flags.text(&options.name, "name", "name of the Node");
  name.value_name = "NAME";
  name.default_text = "this machine's name";  // help and man pages read the same everywhere
  flags.text(&options.cpu, "cpu", "CPUs that the node reports").value_name = "QUANTITY";
  flags.text(&options.memory, "memory", "memory that the node reports").value_name = "QUANTITY";
  Flag& logs = flags.text(&options.log_folder, "log-dir", "folder for the output of pods (default: discarded)");
  logs.value_name = "FOLDER";
  logs.complete = Complete::kFolders;
}

Status validate_node(const sandbox::NodeOptions& options, const std::vector<std::string>& /*args*/) {
  if (!is_dns_subdomain(options.name)) {
    return fail(Category::kUsage, "the node's name \"" + options.name + "\" is not a valid DNS name",
                "use lowercase letters, digits, '-' and '.'");
  }
  for (const auto& [flag, value] : {std::pair("--cpu", &options.cpu), std::pair("--memory", &options.memory)}) {
    const auto parsed = Quantity::parse(*value);
    if (!parsed || parsed->is_zero() || parsed->value() < 0) {
      return fail(Category::kUsage, std::string(flag) + ": \"" + *value + "\" is not a positive quantity",
                  "for example 4, 500m or 8Gi");
    }
  }
  return {};
}

Result<Report> run_node(Context& context, const sandbox::NodeOptions& given, const std::vector<std::string>& /*args*/) {
  FLEETADM_CHECK(refuse_dry_run(context, "sandbox node"));
  sandbox::NodeOptions options = given;
  options.executable = context.executable();
  FLEETADM_TRY(const auto config, context.rest_config());
  FLEETADM_TRY(const auto client, context.client());
  FLEETADM_CHECK(sandbox::run_node(config, client, options, context.stop()));
  return Report{};
}

}  // namespace

void register_sandbox(Registry& registry) {
  Command command;
  command.path = "sandbox node";
  command.target = Target::kSilent;
  command.group = "Sandbox";
  command.summary = "Run a virtual node that runs pods as local processes";
  command.description =
      "Registers a Node, schedules pending pods to it and runs them: a pod of fleetadm's own image "
      "becomes a process of this machine, with the pod's arguments, variables, mounted Secrets and "
      "ConfigMaps and service-account token. A pod of any other image runs nothing and is reported as "
      "running and ready, or as completed if it belongs to a Job; "
      "the annotation sandbox.fleetadm.io/outcome (succeed, fail, unready, never) selects another "
      "outcome. An image of a registry whose name ends with .invalid cannot be pulled. The kubeconfig "
      "needs cluster-admin permissions. The node runs until it is stopped, and then ends its processes.";
  command.examples = {{"Serve the cluster of a kubeconfig", "fleetadm sandbox node --kubeconfig hub.kubeconfig --name hub-node"},
                      {"A small machine, with the pods' logs in a folder",
                       "fleetadm sandbox node --kubeconfig c1.kubeconfig --cpu 2 --memory 4Gi --log-dir logs"}};
  command.make = invocation<sandbox::NodeOptions>(bind_node, validate_node, run_node);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
