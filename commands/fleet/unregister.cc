// unregister: both halves of a cluster's departure, or the one that can be reached.
#include "commands/fleet/fleet.h"
#include "commands/fleet/unjoin_steps.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

void bind_unregister(FlagSet& flags, UnjoinOptions& options) {
  bind_hub_side(flags, options.hub, "; the cluster is removed there first");
  bind_departure(flags, options);
}

Result<UnjoinOptions> with_name(UnjoinOptions options, const std::vector<std::string>& args) {
  options.either_side = true;
  if (!args.empty()) options.cluster_name = args.front();
  if (options.hub_only && args.empty()) return fail(Category::kUsage, "--hub-only requires the cluster's name");
  if (!options.cluster_name.empty() && !is_dns_label(options.cluster_name))
    return fail(Category::kUsage, "\"" + options.cluster_name + "\" is not a valid DNS label");
  FLEETADM_CHECK(validate_unjoin(options));
  return options;
}

}  // namespace

void register_unregister(Registry& registry) {
  Command command;
  command.path = "unregister";
  command.target = Target::kCluster;
  command.group = "Fleet";
  command.summary = "Remove a cluster from its fleet, on whichever side answers";
  command.description =
      "Does what \"fleetadm unjoin\" does, in the same order: works and the cluster on the hub, then everything that was installed "
      "on the cluster of the current context, and with it the agent. Where only one of both sides answers, that half is done, the "
      "other one is named with the command that finishes it later, and the exit code is not 0.\n\n"
      "A cluster on which works are still applied keeps its agent while the hub cannot be reached, because nobody else would remove "
      "them: --force does. The agent of a cluster that cannot be reached from here may well be there, and then removes its works "
      "as the hub waits for it; --force does not wait.";
  command.description += kGuardText;
  command.args = {"[NAME]", 0, 1, false, Complete::kClusters};
  command.examples = {{"On both sides", "fleetadm unregister c1 --context c1 --hub-context hub"},
                      {"On the hub alone", "fleetadm unregister c1 --hub-only --context hub"},
                      {"What has to go before the cluster", "fleetadm unregister --context c1 --hub-context hub --plan"}};
  command.make = invocation<UnjoinOptions>(
      bind_unregister,
      [](const UnjoinOptions& options, const std::vector<std::string>& args) -> Status {
        FLEETADM_TRY([[maybe_unused]] const UnjoinOptions whole, with_name(options, args));
        return {};
      },
      [](Context& context, const UnjoinOptions& options, const std::vector<std::string>& args) -> Result<Report> {
        FLEETADM_TRY(const UnjoinOptions whole, with_name(options, args));
        return leave_fleet(context, whole);
      });
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
