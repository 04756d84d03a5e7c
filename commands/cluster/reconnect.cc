// cluster reconnect: has the hub try at once to connect clusters that it dials.
#include "commands/cluster/cluster.h"
#include "commands/cluster/edit.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/grammar.h"
#include "commands/framework/missing.h"
#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/controller/controller.h"

namespace fleetadm::commands {
namespace {

bool is_connected(const Json& cluster) {
  return controller::condition_is(cluster, api::kConditionResponding, "True") &&
         !controller::condition_is(cluster, api::kConditionAvailable, "Unknown");
}

struct ReconnectOptions {
  ClusterSelection selection;
  std::string wait = "none";
  Duration timeout = kWaitTimeout;
};

/// What keeps it from that, as the hub tells.
std::string why_not(const Json& cluster, bool connected) {
  if (connected) return "is connected, and not yet told as available";
  const Json* ready = controller::find_condition(cluster, api::kConditionReady);
  const bool told = ready != nullptr && str(*ready, {"status"}) == "False";
  return "is still not connected" + (told ? ": " + str(*ready, {"message"}) : std::string());
}

std::vector<Error> wait_until_connected(Context& context, const kube::Client& hub, const std::vector<std::string>& names,
                                        const ReconnectOptions& options) {
  Watched watched(hub);
  kube::InformerOptions push_members;
  push_members.label_selector = std::string(api::kModeLabel) + "=" + std::string(api::kPushMode);
  const std::size_t clusters = watched.add(api::managed_clusters(), std::move(push_members));
  const Look look = [&](const Objects& now) -> Result<Missing> {
    Missing missing;
    for (const std::string& name : names) {
      const auto cluster = now.find(clusters, "", name);
      if (!cluster) return fail(Category::kNotFound, "cluster \"" + name + "\" is none that the hub dials any more");
      const bool connected = is_connected(*cluster);
      const bool available = options.wait != "available" || controller::condition_is(*cluster, api::kConditionAvailable, "True");
      if (!connected || !available) missing[name] = why_not(*cluster, connected);
    }
    return missing;
  };
  const std::string who = names.size() == 1 ? names.front() : std::to_string(names.size()) + " clusters";
  return wait_for_missing(context, "Waiting until " + who + (names.size() == 1 ? " is " : " are ") + options.wait, watched, look,
                          options.timeout);
}

Result<Report> run_reconnect(Context& context, const ReconnectOptions& options, const std::vector<std::string>& args) {
  ClusterSelection selection = options.selection;
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
  FLEETADM_TRY(Report report, edit_clusters(context, selection, nothing_moves, edit));
  const std::vector<std::string> names = edited_names(report);
  if (options.wait == "none" || is_dry(context) || names.empty()) return report;
  FLEETADM_TRY(const auto hub, context.client());
  tell_late(report, wait_until_connected(context, hub, names, options), names.size());
  return report;
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
  command.examples = {
      {"Try a cluster whose network was repaired", "fleetadm cluster reconnect c3"},
      {"Try it, and see why it is not connected within a minute", "fleetadm cluster reconnect c3 --wait --timeout 1m"},
      {"Try all clusters of a region", "fleetadm cluster reconnect -l region=eu"}};
  command.make = invocation<ReconnectOptions>(
      [](FlagSet& flags, ReconnectOptions& options) {
        bind_cluster_selection(flags, options.selection);
        wait_flag(
            flags, &options.wait, {"connected", "available"}, "connected",
            "Wait until each cluster answers the hub, or until placements see it as available, which is when that has lasted for its "
            "success hold");
        timeout_flag(flags, &options.timeout, "How long to wait");
      },
      [](const ReconnectOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_reconnect);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
