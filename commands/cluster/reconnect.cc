// cluster reconnect: has the hub try at once to connect clusters that it dials.
#include "commands/cluster/cluster.h"
#include "commands/cluster/edit.h"
#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/controller/controller.h"

namespace fleetadm::commands {
namespace {

bool is_connected(const Json& cluster) {
  return controller::condition_is(cluster, api::kConditionResponding, "True") &&
         !controller::condition_is(cluster, api::kConditionAvailable, "Unknown");
}

Result<Report> run_reconnect(Context& context, const ClusterSelection& selected, const std::vector<std::string>& args) {
  ClusterSelection selection = selected;
  selection.names = args;
  FLEETADM_CHECK(validate_cluster_selection(selection));
  ClusterEdit edit;
  edit.what = "reconnecting";
  edit.done = "reconnecting";
  edit.edit = [at = format_micro_time(context.clock().now())](Json& cluster) -> Status {
    if (!api::is_push_member(cluster))
      return fail(Category::kConflict, "cluster \"" + name_of(cluster) + "\" has an agent, which connects to the hub by itself",
                  "see what keeps it from that: fleetadm doctor --context CONTEXT_OF_THE_CLUSTER");
    if (!is_connected(cluster)) at_or_make(cluster, {"metadata", "annotations"})[std::string(api::kReconnectAnnotation)] = at;
    return {};
  };
  GuardOptions nothing_moves;
  nothing_moves.allow = true;
  return edit_clusters(context, selection, nothing_moves, edit);
}

}  // namespace

void register_cluster_reconnect(Registry& registry) {
  Command command;
  command.path = "cluster reconnect";
  command.group = "Clusters";
  command.summary = "Try at once to connect clusters that the hub dials";
  command.description =
      "The hub tries a cluster that joined with `fleetadm join --push` again and again while it cannot be connected: each second in "
      "the first minutes of an outage, later every two minutes. This command has it try now, and after `--give-up-after` once more "
      "for that time. A cluster that is connected is left as it is. `fleetadm get clusters` shows what came of it.";
  command.args = {"[NAME...]", 0, -1, false, Complete::kClusters};
  command.examples = {{"Try a cluster whose network was repaired", "fleetadm cluster reconnect c3"},
                      {"Try all clusters of a region", "fleetadm cluster reconnect -l region=eu"}};
  command.make = invocation<ClusterSelection>(
      bind_cluster_selection, [](const ClusterSelection&, const std::vector<std::string>&) -> Status { return {}; },
      run_reconnect);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
