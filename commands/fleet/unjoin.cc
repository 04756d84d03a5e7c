#include <utility>

#include "commands/fleet/changes.h"
#include "commands/fleet/fleet.h"
#include "core/registration/join/departure.h"

namespace fleetadm::commands {
namespace {

struct UnjoinOptions {
  std::string cluster_name;
  std::string hub_context;
  std::string hub_kubeconfig;
  bool hub_only = false;
  bool force = false;
  bool keep_namespace = false;
  bool yes = false;
  Duration timeout = std::chrono::minutes(5);
};

void bind_unjoin(FlagSet& flags, UnjoinOptions& options) {
  auto& name =
      flags.text(&options.cluster_name, "cluster-name", "Name of the cluster in the fleet (default: the one it joined under)");
  name.complete = Complete::kClusters;
  auto& context = flags.text(&options.hub_context, "hub-context", "Context of the hub; the cluster is removed there first");
  context.complete = Complete::kContexts;
  auto& kubeconfig = flags.text(&options.hub_kubeconfig, "hub-kubeconfig", "Kubeconfig of the hub, if it is a different file");
  kubeconfig.value_name = "FILE";
  kubeconfig.complete = Complete::kFiles;
  flags.boolean(&options.hub_only, "hub-only",
                "The current context is the hub; remove the cluster there and leave its agent alone");
  flags.boolean(&options.force, "force", "Do not wait for an agent that no longer runs; remove what it applied without it");
  flags.boolean(&options.keep_namespace, "keep-namespace", "Keep the cluster's namespace on the hub");
  flags.boolean(&options.yes, "yes", "Skip the confirmation prompt", 'y');
  flags.duration(&options.timeout, "timeout", "Timeout for each side").default_text = "5m";
}

Status validate_unjoin(const UnjoinOptions& options, const std::vector<std::string>&) {
  const bool names_hub = !options.hub_context.empty() || !options.hub_kubeconfig.empty();
  if (options.hub_only && names_hub)
    return fail(Category::kUsage, "--hub-only cannot be combined with --hub-context or --hub-kubeconfig");
  if (options.hub_only && options.cluster_name.empty()) return fail(Category::kUsage, "--hub-only requires --cluster-name");
  if (!options.cluster_name.empty() && !kube::is_dns_label(options.cluster_name)) {
    return fail(Category::kUsage, "--cluster-name \"" + options.cluster_name + "\" is not a valid DNS label");
  }
  return {};
}

// Which cluster this is, checked against what the agent stored: unjoin never works on another cluster's objects.
Result<std::string> which_cluster(const kube::Client& spoke, const UnjoinOptions& options) {
  FLEETADM_TRY(const std::string stored, join::joined_as(spoke));
  if (!stored.empty() && !options.cluster_name.empty() && stored != options.cluster_name) {
    return fail(Category::kConflict, "this cluster joined as \"" + stored + "\", not as \"" + options.cluster_name + "\"",
                "this may be the wrong cluster; check --context");
  }
  return stored.empty() ? options.cluster_name : stored;
}

Status confirm(Context& context, const UnjoinOptions& options, const std::string& name) {
  if (options.yes || !context.terminal().interactive() || context.global().dry_run != kube::DryRun::kNone) return {};
  FLEETADM_TRY(const bool sure, context.terminal().confirm("Remove cluster \"" + name + "\" from the fleet?"));
  if (!sure) return fail(Category::kCancelled, "nothing was changed");
  return {};
}

Result<Report> run_unjoin(Context& context, const UnjoinOptions& options, const std::vector<std::string>&) {
  FLEETADM_TRY(const auto here, context.client());
  join::DepartureOptions how;
  how.cluster_name = options.cluster_name;
  how.force = options.force;
  how.keep_namespace = options.keep_namespace;
  how.timeout = options.timeout;
  how.stop = context.stop();
  how.told = [&](std::string_view what) { context.progress().note(what); };
  if (!options.hub_only) {
    FLEETADM_TRY(how.cluster_name, which_cluster(here, options));
  }
  const bool with_hub = options.hub_only || !options.hub_context.empty() || !options.hub_kubeconfig.empty();
  if (with_hub && how.cluster_name.empty()) {
    return fail(Category::kUsage, "this cluster no longer records the name it joined under", "pass --cluster-name");
  }
  FLEETADM_CHECK(confirm(context, options, how.cluster_name));

  std::vector<install::Change> changes;
  const auto step = [&](const char* title, auto leave, const kube::Client& client) -> Status {
    FLEETADM_TRY(const auto done, told_step(context, title, [&] { return leave(client, how); }));
    changes.insert(changes.end(), done.begin(), done.end());
    return {};
  };
  if (options.hub_only) {
    FLEETADM_CHECK(step("Leaving the fleet on the hub", join::leave_on_hub, here));
  } else {
    if (with_hub) {
      kube::ConfigOverrides hub = context.global().config;
      hub.context = options.hub_context;
      if (!options.hub_kubeconfig.empty()) hub.kubeconfig = options.hub_kubeconfig;
      FLEETADM_TRY(const auto config, context.rest_config(hub));
      FLEETADM_CHECK(step("Leaving the fleet on the hub", join::leave_on_hub, context.client(config)));
      how.left_hub = true;
    }
    FLEETADM_CHECK(step("Removing the agent", join::leave_on_spoke, here));
  }

  Report report;
  report.data = Json{{"kind", "UnjoinReport"}, {"cluster-name", how.cluster_name}, {"changes", install::to_json(changes)}};
  const bool dry_run = here.gate().dry_run != kube::DryRun::kNone;
  report.lines = change_lines(changes, dry_run);
  report.names = change_names(changes);
  if (changes.empty())
    report.lines.push_back(options.hub_only ? "Nothing to do: cluster \"" + how.cluster_name + "\" is not on this hub."
                                            : "Nothing to do: no agent is installed on this cluster.");
  if (!with_hub && !changes.empty()) {
    report.notes.push_back(
        "The hub still lists the cluster and will show it as unknown. Remove it there too: fleetadm unjoin "
        "--hub-only --context HUB --cluster-name " +
        (how.cluster_name.empty() ? std::string("NAME") : how.cluster_name));
  }
  return report;
}

}  // namespace

void register_unjoin(Registry& registry) {
  Command command;
  command.path = "unjoin";
  command.target = Target::kCluster;
  command.group = "Fleet";
  command.summary = "Remove the current cluster from its fleet";
  command.description =
      "With --hub-context, the cluster is deleted on the hub first, which removes everything that was "
      "distributed to it; then the agent and everything installed with it are removed from the cluster "
      "of the current context. Both sides are restored to their state before the join; a hub namespace "
      "with the cluster's name that existed before the join is kept. "
      "Run it again to finish an interrupted run.";
  command.examples = {{"Leave the fleet on both sides", "fleetadm unjoin --context c1 --hub-context hub"},
                      {"Only remove the agent", "fleetadm unjoin --context c1"},
                      {"On the hub, remove a cluster that no longer exists",
                       "fleetadm unjoin --hub-only --context hub --cluster-name c1 --force"}};
  command.make = invocation<UnjoinOptions>(bind_unjoin, validate_unjoin, run_unjoin);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
