#include "core/registration/join/unjoin.h"

#include <optional>
#include <utility>

#include "commands/fleet/changes.h"
#include "commands/fleet/fleet.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/grammar.h"
#include "commands/framework/guard.h"
#include "commands/framework/hub_side.h"
#include "commands/framework/named.h"
#include "core/api/kinds.h"
#include "core/registration/join/blockers.h"
#include "kubeclient/base/names.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

struct UnjoinOptions {
  std::string cluster_name;
  HubSide hub;
  bool hub_only = false;
  bool force = false;
  bool keep_namespace = false;
  GuardOptions guard;
  Duration timeout = kWaitTimeout;
};

void bind_unjoin(FlagSet& flags, UnjoinOptions& options) {
  auto& name =
      flags.text(&options.cluster_name, "cluster-name", "Name of the cluster in the fleet (default: the one it joined under)");
  name.complete = Complete::kClusters;
  bind_hub_side(flags, options.hub, "; the cluster is removed there first");
  flags.boolean(&options.hub_only, "hub-only",
                "The current context is the hub; remove the cluster there and leave its agent alone");
  flags.boolean(&options.force, "force", "Do not wait for an agent that no longer runs; remove what it applied without it");
  flags.boolean(&options.keep_namespace, "keep-namespace", "Keep the cluster's namespace on the hub");
  bind_guard(flags, options.guard);
  timeout_flag(flags, &options.timeout, "Timeout for each side");
}

Status validate_unjoin(const UnjoinOptions& options, const std::vector<std::string>&) {
  if (options.hub_only && options.hub.named())
    return fail(Category::kUsage, "--hub-only cannot be combined with --hub-context or --hub-kubeconfig");
  if (options.hub_only && options.cluster_name.empty()) return fail(Category::kUsage, "--hub-only requires --cluster-name");
  if (!options.cluster_name.empty() && !is_dns_label(options.cluster_name)) {
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

/// The hub's side: everything that is distributed to the cluster goes with it.
ProposedChange departure_from_hub(const std::string& name) {
  ProposedChange change;
  change.what = "removing cluster " + name + " from the hub";
  change.make = [name](placement::Objects& objects) { objects.remove(placement::ObjectKind::kCluster, "", name); };
  change.leaving = {name};
  return change;
}

/// The cluster's side without the hub: --force removes what the agent applied.
Result<work::Impact> lost_on_spoke(const kube::Client& spoke, const std::string& name, bool force) {
  work::Impact impact;
  impact.clusters = 1;
  if (!force) return impact;  // refused while works are left
  FLEETADM_TRY(const std::vector<std::string> works, join::applied_work_names(spoke));
  for (const std::string& work : works) impact.lost.push_back({work::LostWork::Effect::kRemoved, name, work, ""});
  return impact;
}

/// What has to go before the cluster, as rows of --plan: in this order, each with its owner and who lets it go.
Status add_blockers(const UnjoinOptions& options, const std::string& name, const kube::Client* hub, const kube::Client& here,
                    Report& plan) {
  std::vector<join::Blocker> blockers;
  if (hub != nullptr) {
    FLEETADM_TRY(blockers, join::hub_blockers(*hub, name));
  }
  if (!options.hub_only && hub == nullptr) {
    FLEETADM_TRY(blockers, join::spoke_blockers(here));
  }
  plan.data["blockers"] = join::to_json(blockers);
  std::vector<std::string> texts;
  for (const join::Blocker& blocker : blockers) texts.push_back(std::to_string(texts.size() + 1) + ". " + blocker.text());
  if (!texts.empty()) texts.insert(texts.begin(), "What has to go first, in this order:");
  plan.notes.insert(plan.notes.begin(), texts.begin(), texts.end());
  return {};
}

/// Answers --plan; otherwise asks once, about the works that would be lost or else whether this is meant at all.
Result<std::optional<Report>> confirm_unjoin(Context& context, const UnjoinOptions& options, const std::string& name,
                                             const kube::Client* hub, const kube::Client& spoke,
                                             std::vector<std::string>& notes) {
  const GuardOptions& guard = options.guard;
  const std::string called = name.empty() ? "this cluster" : name;
  if (guard.allow && !guard.plan) return std::nullopt;
  work::Impact impact;
  std::string what = "removing the agent from cluster " + called;
  if (hub != nullptr) {
    const ProposedChange change = departure_from_hub(name);
    what = change.what;
    auto computed = impact_of(*hub, change, context.clock().now(), guard.plan);
    if (!computed) return tl::unexpected(not_computed(computed.error(), guard, what));
    impact = std::move(*computed);
  } else {
    FLEETADM_TRY(impact, lost_on_spoke(spoke, called, options.force));
  }
  if (guard.plan) {
    Report plan = plan_report(what, impact);
    FLEETADM_CHECK(add_blockers(options, name, hub, spoke, plan));
    return plan;
  }
  if (!impact.none()) return guard_impact(context, guard, what, impact, notes);
  if (guard.yes || is_dry(context)) return std::nullopt;
  FLEETADM_TRY(const bool sure, context.terminal().confirm("Remove cluster \"" + called + "\" from the fleet?"));
  if (!sure) return fail(Category::kCancelled, "nothing was changed");
  return std::nullopt;
}

/// An agent that could not be asked has everything still: what, and how it goes when the cluster is back.
void tell_left_behind(const join::LeftBehind& left, const std::string& name, Report& report) {
  report.data["left"] = {{"works", left.works}, {"addons", left.addons}};
  std::string text = "On cluster " + name + " stay its agent";
  if (!left.works.empty()) {
    text += ", what it applied of " + pluralize(left.works.size(), "work") + " (" +
            work::some_names({left.works.begin(), left.works.end()}) + ")";
  }
  if (!left.addons.empty()) {
    text += ", agents of " + pluralize(left.addons.size(), "add-on") + " (" +
            work::some_names({left.addons.begin(), left.addons.end()}) + ")";
  }
  report.notes.push_back(text + ". Its agent may ask to join again: do not accept it.");
  report.notes.push_back("When the cluster is back, remove them there: fleetadm unjoin --force --context CONTEXT_OF_THE_CLUSTER");
}

bool does_not_answer(const Error& error) {
  return error.category == Category::kUnavailable || error.category == Category::kTimeout;
}

Status check_known(const kube::Client& hub, const std::string& name) {
  FLEETADM_TRY(const bool known, join::known_on_hub(hub, name));
  if (known) return {};
  return fail(Category::kNotFound, "cluster \"" + name + "\" is not on this hub",
              NearNames(hub, api::managed_clusters()).hint(name, "list the clusters with: fleetadm get clusters"));
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
  bool hub_only = options.hub_only;
  if (!hub_only) {
    auto name = which_cluster(here, options);
    // A cluster that is gone for good is left on the hub alone.
    hub_only = !name && options.force && options.hub.named() && does_not_answer(name.error());
    if (!name && !hub_only) return tl::unexpected(name.error());
    if (name) how.cluster_name = *name;
    if (hub_only) context.progress().warn("the cluster does not answer: " + name.error().message);
  }
  const bool with_hub = hub_only || options.hub.named();
  if (with_hub && how.cluster_name.empty()) {
    return fail(
        Category::kUsage,
        hub_only ? "the cluster cannot tell the name it joined under" : "this cluster no longer records the name it joined under",
        "pass --cluster-name");
  }
  std::optional<kube::Client> hub;
  if (options.hub_only) {
    hub = here;
    FLEETADM_CHECK(check_known(here, how.cluster_name));
  } else if (with_hub) {
    FLEETADM_TRY(const auto config, hub_side(context, options.hub));
    hub = context.client(*config);
  }
  Report report;
  FLEETADM_TRY(auto plan, confirm_unjoin(context, options, how.cluster_name, hub ? &*hub : nullptr, here, report.notes));
  if (plan) return std::move(*plan);

  join::LeftBehind left;
  if (hub_only && options.force) {
    FLEETADM_TRY(left, join::left_behind(*hub, how.cluster_name));
  }
  std::vector<install::Change> changes;
  const auto step = [&](const char* title, auto leave, const kube::Client& client) -> Status {
    FLEETADM_TRY(const auto done, step_with_progress(context, title, [&] { return leave(client, how); }));
    changes.insert(changes.end(), done.begin(), done.end());
    return {};
  };
  if (hub) FLEETADM_CHECK(step("Leaving the fleet on the hub", join::leave_on_hub, *hub));
  how.left_hub = hub.has_value();
  if (!hub_only) FLEETADM_CHECK(step("Removing the agent", join::leave_on_spoke, here));

  report.data = Json{{"kind", "UnjoinReport"}, {"cluster-name", how.cluster_name}, {"changes", install::to_json(changes)}};
  report.lines = change_lines(changes, dry_run_mark(context));
  report.names = change_names(changes);
  if (changes.empty())
    report.notes.push_back(hub_only ? "Nothing to do: cluster \"" + how.cluster_name + "\" is not on this hub."
                                    : "Nothing to do: no agent is installed on this cluster.");
  if (hub_only && options.force && !changes.empty()) tell_left_behind(left, how.cluster_name, report);
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
      "Run it again to finish an interrupted run. While it waits, it names what blocks; --plan lists all of it, in the order in "
      "which it goes, with owners and finalizers.\n\n"
      "--force does not wait for the cluster's agent: on the hub, add-ons and works are deleted without it, also if the cluster "
      "does not answer. What then stays on the cluster is told, with the command that removes it there later.";
  command.description += kGuardText;
  command.examples = {{"Leave the fleet on both sides", "fleetadm unjoin --context c1 --hub-context hub"},
                      {"Only remove the agent", "fleetadm unjoin --context c1"},
                      {"On the hub, remove a cluster that no longer exists",
                       "fleetadm unjoin --hub-only --context hub --cluster-name c1 --force"},
                      {"What has to go before the cluster", "fleetadm unjoin --context c1 --hub-context hub --plan"}};
  command.make = invocation<UnjoinOptions>(bind_unjoin, validate_unjoin, run_unjoin);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
