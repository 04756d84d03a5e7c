#include "core/registration/join/unjoin.h"

#include <optional>
#include <utility>

#include "commands/fleet/changes.h"
#include "commands/fleet/fleet.h"
#include "commands/fleet/unjoin_steps.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/named.h"
#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/registration/join/hosted_sides.h"
#include "kubeclient/base/names.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

void bind_unjoin(FlagSet& flags, UnjoinOptions& options) {
  auto& name =
      flags.text(&options.cluster_name, "cluster-name", "Name of the cluster in the fleet (default: the one it joined under)");
  name.complete = Complete::kClusters;
  bind_hub_side(flags, options.hub, "; the cluster is removed there first");
  bind_member_side(
      flags, options.member,
      "Where the agent runs: on the managed cluster itself, or (hosted) on the cluster of --kubeconfig and --context");
  bind_push(
      flags, options.push,
      "Remove a cluster that the hub dials: the current context is the hub, and the hub's own credential is used on the cluster "
      "unless its kubeconfig is given");
  bind_departure(flags, options);
}

}  // namespace

void bind_departure(FlagSet& flags, UnjoinOptions& options) {
  flags.boolean(&options.hub_only, "hub-only",
                "The current context is the hub; remove the cluster there and leave its agent alone");
  flags.boolean(&options.force, "force", "Do not wait for an agent that no longer runs; remove what it applied without it");
  flags.boolean(
      &options.orphan, "orphan",
      "Leave what works applied on the cluster, where nothing looks after it any more; what add-ons applied is removed");
  flags.boolean(&options.keep_namespace, "keep-namespace", "Keep the cluster's namespace on the hub");
  bind_guard(flags, options.guard);
  timeout_flag(flags, &options.timeout, "Timeout for each side");
}

Status validate_unjoin(const UnjoinOptions& options) {
  if (options.hub_only && options.hub.named())
    return fail(Category::kUsage, "--hub-only cannot be combined with --hub-context or --hub-kubeconfig");
  FLEETADM_CHECK(validate_push(options.push, false));
  if (options.push.on && (options.hub_only || options.hub.named() || is_hosted_mode(options.member)))
    return fail(Category::kUsage, "--push cannot be combined with --hub-only, --hub-context, --hub-kubeconfig or --mode hosted",
                "the current context is the hub");
  if (options.hub_only && is_hosted_mode(options.member))
    return fail(Category::kUsage, "--hub-only cannot be combined with --mode hosted");
  if (options.orphan && (options.hub_only || is_hosted_mode(options.member)))
    return fail(Category::kUsage, "--orphan cannot be combined with --hub-only or --mode hosted",
                "workloads are released on the cluster itself");
  if (options.orphan && !options.push.on && !options.hub.named())
    return fail(Category::kUsage, "--orphan requires --hub-context or --hub-kubeconfig", "the hub knows which works there are");
  FLEETADM_CHECK(validate_member_side(options.member, !options.force));
  if (options.hub_only && options.cluster_name.empty()) return fail(Category::kUsage, "--hub-only requires --cluster-name");
  if (!options.cluster_name.empty() && !is_dns_label(options.cluster_name)) {
    return fail(Category::kUsage, "--cluster-name \"" + options.cluster_name + "\" is not a valid DNS label");
  }
  return {};
}

namespace {

// Which cluster this is, checked against what the agent stored: unjoin never works on another cluster's objects.
Result<std::string> which_cluster(const kube::Client& spoke, const UnjoinOptions& options) {
  FLEETADM_TRY(const auto hosted, join::hosted_as(spoke));
  if (hosted && !options.force) {
    return fail(Category::kConflict, "the agent of this cluster does not run here: it is hosted, as \"" + hosted->cluster + "\"",
                "remove it there: fleetadm unjoin --context HOSTING_CLUSTER --mode hosted --cluster-name " + hosted->cluster +
                    " --managed-cluster-context CONTEXT; or, where that cluster is gone for good: --force");
  }
  FLEETADM_TRY(std::string stored, join::joined_as(spoke));
  if (stored.empty() && hosted) stored = hosted->cluster;
  if (!stored.empty() && !options.cluster_name.empty() && stored != options.cluster_name) {
    return fail(Category::kConflict, "this cluster joined as \"" + stored + "\", not as \"" + options.cluster_name + "\"",
                "this may be the wrong cluster; check --context");
  }
  return stored.empty() ? options.cluster_name : stored;
}

Status check_known(const kube::Client& hub, const std::string& name) {
  FLEETADM_TRY(const bool known, join::known_on_hub(hub, name));
  if (known) return {};
  return fail(Category::kNotFound, "cluster \"" + name + "\" is not on this hub",
              NearNames(hub, api::managed_clusters()).hint(name, "list the clusters with: fleetadm get clusters"));
}

/// A hub that does not answer is left for later; nullopt then.
Result<std::optional<kube::Client>> hub_that_answers(Context& context, const UnjoinOptions& options, const std::string& name,
                                                     std::optional<Error>& silent) {
  FLEETADM_TRY(const auto config, hub_side(context, options.hub));
  kube::Client hub = context.client(*config);
  if (!options.either_side) return std::optional(std::move(hub));
  const auto cluster = hub.find(api::managed_clusters(), "", name);
  if (cluster && *cluster && api::is_push_member(**cluster)) {
    return fail(Category::kConflict, "cluster \"" + name + "\" has no agent: the hub dials it",
                "use fleetadm unjoin --push --context HUB --cluster-name " + name);
  }
  if (cluster || !does_not_answer(cluster.error())) return std::optional(std::move(hub));
  silent = cluster.error().wrap("the hub does not answer");
  return std::optional<kube::Client>();
}

/// The half that was not done is a failure: the exit code says so.
void tell_silent(Error silent, const std::string& hint, Report& report) {
  silent.hint = hint;
  report.failures.push_back(std::move(silent));
}

}  // namespace

Result<Report> leave_fleet(Context& context, const UnjoinOptions& options) {
  if (is_hosted_mode(options.member)) return unjoin_hosted(context, options);
  if (options.push.on) return unjoin_push(context, options);
  FLEETADM_TRY(const auto here, context.client());
  join::DepartureOptions how = departure_options(context, options);
  bool hub_only = options.hub_only;
  std::optional<Error> silent;
  if (!hub_only) {
    auto name = which_cluster(here, options);
    // A cluster that is gone for good is left on the hub alone.
    hub_only = !name && (options.force || options.either_side) && options.hub.named() && does_not_answer(name.error());
    if (!name && !hub_only) return tl::unexpected(name.error());
    if (name) how.cluster_name = *name;
    if (hub_only) context.progress().warn("the cluster does not answer: " + name.error().message);
    if (hub_only && options.either_side) silent = name.error().wrap("the cluster does not answer");
  }
  const bool with_hub = hub_only || options.hub.named();
  if (with_hub && how.cluster_name.empty()) {
    return fail(
        Category::kUsage,
        hub_only ? "the cluster cannot tell the name it joined under" : "this cluster no longer records the name it joined under",
        options.either_side ? "name it as the hub has it" : "pass --cluster-name");
  }
  std::optional<kube::Client> hub;
  if (options.hub_only) {
    hub = here;
    FLEETADM_CHECK(check_known(here, how.cluster_name));
  } else if (with_hub) {
    std::optional<Error> no_hub;
    FLEETADM_TRY(hub, hub_that_answers(context, options, how.cluster_name, no_hub));
    if (no_hub && silent) return fail(*no_hub);  // neither does
    if (no_hub) {
      context.progress().warn(no_hub->message);
      silent = no_hub;
    }
  }
  // Its workloads are released there, and a cluster that was given up keeps them anyway.
  if (options.orphan && silent) return fail(silent->with_hint("--orphan needs both sides; without it, run the command again"));
  const bool orphan = options.orphan && !hub_only;
  std::vector<std::string> kept;
  if (orphan) {
    FLEETADM_TRY(kept, works_to_keep(*hub, how));
  }
  Report report;
  FLEETADM_TRY(auto plan, confirm_unjoin(context, options, how.cluster_name, hub ? &*hub : nullptr, &here, report.notes));
  if (plan) {
    if (orphan) tell_kept(kept, how.cluster_name, *plan);
    return std::move(*plan);
  }

  join::LeftBehind left;
  if (hub_only && options.force) {
    FLEETADM_TRY(left, join::left_behind(*hub, how.cluster_name));
  }
  UnjoinSteps steps(context);
  const auto leave_spoke = [&] { return steps.run("Removing the agent", [&] { return join::leave_on_spoke(here, how); }); };
  if (orphan) FLEETADM_CHECK(leave_spoke());
  if (hub) FLEETADM_CHECK(steps.run("Leaving the fleet on the hub", [&] { return join::leave_on_hub(*hub, how); }));
  how.left_hub = hub.has_value();
  if (!hub_only && !orphan) FLEETADM_CHECK(leave_spoke());
  if (hub) FLEETADM_CHECK(steps.wait_for_namespace(*hub, how));

  steps.tell(how.cluster_name, report);
  if (!steps.changed())
    report.notes.push_back(hub_only ? "Nothing to do: cluster \"" + how.cluster_name + "\" is not on this hub."
                                    : "Nothing to do: no agent is installed on this cluster.");
  if (orphan && steps.changed()) tell_kept(kept, how.cluster_name, report);
  if (hub_only && options.force && steps.changed()) tell_left_behind(left, how.cluster_name, "its agent", report);
  if (!hub && steps.changed() && !silent) tell_hub_left(how.cluster_name, report);
  if (silent) {
    tell_silent(*silent,
                hub_only ? "its agent is still there: when the cluster is back, fleetadm unjoin --context CONTEXT_OF_THE_CLUSTER"
                         : "it still lists the cluster: when it is back, fleetadm unregister --hub-only --context HUB " +
                               how.cluster_name,
                report);
  }
  return report;
}

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
      "Run it again to finish an interrupted run. While it waits, it names what blocks; --plan lists all of it, in the order in "
      "which it goes, with owners and finalizers.\n\n"
      "--force does not wait for the cluster's agent: on the hub, add-ons and works are deleted without it, also if the cluster "
      "does not answer. What then stays on the cluster is told, with the command that removes it there later.\n\n"
      "--orphan leaves on the cluster what works applied: there it belongs to nobody then, and nothing repairs or removes it. The agent "
      "goes first in that case, and the hub's works after it.";
  command.description +=
      "\n\nWith --mode hosted the current context is that of the cluster that hosts the agent: the member's Secrets there go, then "
      "what was installed for it on the managed cluster, and with the last member the agents' pod. Nothing of another member is "
      "touched.";
  command.description +=
      "\n\nWith --push the current context is the hub, which dials the cluster: its works go first, then what the hub has on the cluster "
      "(with the hub's own credential, or that of --member-kubeconfig), then the credential.";
  command.description += kGuardText;
  command.examples = {{"Leave the fleet on both sides", "fleetadm unjoin --context c1 --hub-context hub"},
                      {"Only remove the agent", "fleetadm unjoin --context c1"},
                      {"On the hub, remove a cluster that no longer exists",
                       "fleetadm unjoin --hub-only --context hub --cluster-name c1 --force"},
                      {"A cluster whose agent is hosted by another one",
                       "fleetadm unjoin --mode hosted --context hub --cluster-name c2 --managed-cluster-context c2 "
                       "--hub-context hub"},
                      {"A cluster that the hub dials", "fleetadm unjoin --push --context hub --cluster-name c3"},
                      {"A cluster that keeps its workloads", "fleetadm unjoin --context c1 --hub-context hub --orphan"},
                      {"What has to go before the cluster", "fleetadm unjoin --context c1 --hub-context hub --plan"}};
  command.make = invocation<UnjoinOptions>(
      bind_unjoin, [](const UnjoinOptions& options, const std::vector<std::string>&) { return validate_unjoin(options); },
      [](Context& context, const UnjoinOptions& options, const std::vector<std::string>&) {
        return leave_fleet(context, options);
      });
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
