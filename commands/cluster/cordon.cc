// cluster cordon and uncordon: placements stop selecting a cluster anew, and may again.
#include "commands/cluster/cluster.h"
#include "commands/cluster/edit.h"
#include "commands/cluster/taints.h"

namespace fleetadm::commands {
namespace {

struct CordonOptions {
  ClusterSelection selection;
  GuardOptions guard;
};

Result<Report> run_cordon_edit(Context& context, const CordonOptions& options, const std::vector<std::string>& args,
                               const ClusterEdit& edit) {
  ClusterSelection selection = options.selection;
  selection.names = args;
  FLEETADM_CHECK(validate_cluster_selection(selection));
  return edit_clusters(context, selection, options.guard, edit);
}

Result<Report> run_cordon(Context& context, const CordonOptions& options, const std::vector<std::string>& args) {
  ClusterEdit edit;
  edit.what = "cordoning";
  edit.done = "cordoned";
  edit.edit = [](Json& cluster) -> Status {
    if (has_taint(cluster, kUnschedulableTaint)) return {};  // drained, which is more
    return edit_taints(cluster, {{kUnschedulableTaint, "", "NoSelectIfNew", false}}, false);
  };
  edit.consequence = [now = context.clock().now()](Json& cluster) { note_taint_times(cluster, now); };
  return run_cordon_edit(context, options, args, edit);
}

Result<Report> run_uncordon(Context& context, const CordonOptions& options, const std::vector<std::string>& args) {
  ClusterEdit edit;
  edit.what = "uncordoning";
  edit.done = "uncordoned";
  edit.edit = [](Json& cluster) { return edit_taints(cluster, {{kUnschedulableTaint, "", "", true}}, false); };
  return run_cordon_edit(context, options, args, edit);
}

void add_cordon_command(Registry& registry, Command command,
                        Result<Report> (*run)(Context&, const CordonOptions&, const std::vector<std::string>&)) {
  command.group = "Clusters";
  command.description += kGuardText;
  command.args = {"[NAME...]", 0, -1, false, Complete::kClusters};
  command.make = invocation<CordonOptions>(
      [](FlagSet& flags, CordonOptions& options) {
        bind_cluster_selection(flags, options.selection);
        bind_guard(flags, options.guard);
      },
      [](const CordonOptions&, const std::vector<std::string>&) -> Status { return {}; }, run);
  registry.add(std::move(command));
}

}  // namespace

void register_cluster_cordon(Registry& registry) {
  Command command;
  command.path = "cluster cordon";
  command.summary = "Keep placements from selecting clusters anew";
  command.description =
      std::string("Adds the taint ") + kUnschedulableTaint +
      ":NoSelectIfNew. What runs on the cluster stays there; placements that do not tolerate the taint select it "
      "no more. \"fleetadm cluster drain\" moves away what is there; \"fleetadm cluster uncordon\" ends both.";
  command.examples = {{"Cordon a cluster", "fleetadm cluster cordon c1"},
                      {"Cordon all clusters of a region", "fleetadm cluster cordon -l region=eu"}};
  add_cordon_command(registry, std::move(command), run_cordon);
}

void register_cluster_uncordon(Registry& registry) {
  Command command;
  command.path = "cluster uncordon";
  command.summary = "Let placements select clusters again";
  command.description = std::string("Removes the taint ") + kUnschedulableTaint +
                        " of \"fleetadm cluster cordon\" and \"fleetadm cluster drain\". Placements then decide anew, which can "
                        "move works back from other clusters.";
  command.examples = {{"Uncordon a cluster", "fleetadm cluster uncordon c1"},
                      {"See which works other clusters would lose", "fleetadm cluster uncordon c1 --plan"}};
  add_cordon_command(registry, std::move(command), run_uncordon);
}

}  // namespace fleetadm::commands
