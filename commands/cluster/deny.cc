// cluster deny: the hub no longer accepts the cluster; accept takes it back.
#include "commands/cluster/cluster.h"
#include "commands/cluster/denial.h"

namespace fleetadm::commands {
namespace {

struct DenyOptions {
  ClusterSelection selection;
  GuardOptions guard;
};

Result<Report> run_deny(Context& context, const DenyOptions& options, const std::vector<std::string>& args) {
  ClusterSelection selection = options.selection;
  selection.names = args;
  FLEETADM_CHECK(validate_cluster_selection(selection));
  FLEETADM_TRY(Report report, edit_clusters(context, selection, options.guard, denial(context.clock().now())));
  if (!options.guard.plan && !report.lines.empty() && args.size() == 1)
    report.notes.push_back("to accept it again: fleetadm accept " + args.front());
  return report;
}

}  // namespace

void register_cluster_deny(Registry& registry) {
  Command command;
  command.path = "cluster deny";
  command.group = "Clusters";
  command.summary = "Deny clusters that were accepted";
  command.description =
      "Sets hubAcceptsClient to false: the cluster's agent loses its permissions on the hub. The cluster "
      "stays listed, becomes unreachable when its lease expires, and placements that do not tolerate "
      "that drop it. \"fleetadm accept\" accepts it again; \"fleetadm unjoin\" removes it.";
  command.description += kGuardText;
  command.args = {"[NAME...]", 0, -1, false, Complete::kClusters};
  command.examples = {{"Deny a cluster", "fleetadm cluster deny c1"},
                      {"See which works would be lost", "fleetadm cluster deny c1 --plan"}};
  command.make = invocation<DenyOptions>(
      [](FlagSet& flags, DenyOptions& options) {
        bind_cluster_selection(flags, options.selection);
        bind_guard(flags, options.guard);
      },
      [](const DenyOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_deny);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
