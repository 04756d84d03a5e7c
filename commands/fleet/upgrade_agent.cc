#include <utility>

#include "commands/fleet/fleet.h"
#include "commands/fleet/upgrade.h"
#include "commands/fleet/upgrade_fleet.h"
#include "commands/framework/grammar.h"
#include "commands/framework/member_side.h"
#include "core/api/hosted_member.h"
#include "core/api/kinds.h"
#include "core/install/install.h"
#include "core/registration/join/hosted_members.h"
#include "core/upgrade/intents.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::commands {
namespace {

struct UpgradeAgentOptions {
  UpgradeOptions upgrade;
  TargetOptions targets;
  StrategyOptions strategy;
  MemberSide member;
  bool wait = false;
  Duration timeout = kWaitTimeout;
};

void bind_upgrade_agent(FlagSet& flags, UpgradeAgentOptions& options) {
  bind_upgrade(flags, options.upgrade, "the agent");
  bind_targets(flags, options.targets);
  flags.find("placement")->help = "the clusters this placement selects now";
  bind_rollout_strategy(flags, options.strategy);
  bind_hosting(flags, options.member,
               "Whose agent it is: that of the current cluster itself, or (hosted) of all members that it hosts in a namespace");
  wait_flag(flags, &options.wait, "Wait until the new version is running; agents of several clusters are always waited for");
  timeout_flag(flags, &options.timeout, "How long to wait for the agent of a cluster");
}

bool of_fleet(const UpgradeAgentOptions& options) {
  return !options.targets.clusters.empty() || !options.targets.selector.empty() || !options.targets.placement.empty();
}

UpgradeFleetOptions fleet_options(const UpgradeAgentOptions& options) {
  return {options.upgrade, options.targets, options.strategy, options.timeout};
}

Status validate_upgrade_agent(const UpgradeAgentOptions& options, const std::vector<std::string>&) {
  FLEETADM_CHECK(validate_upgrade(options.upgrade));
  FLEETADM_CHECK(validate_member_side(options.member, false));
  if (is_hosted_mode(options.member) && of_fleet(options)) {
    return fail(Category::kUsage, "--mode hosted cannot be combined with --clusters, -l or --placement",
                "the agents of all members in a namespace run in one pod");
  }
  if (of_fleet(options)) return validate_fleet(fleet_options(options));
  if (!options.strategy.any()) return {};
  return fail(Category::kUsage, "rollout flags require --clusters, -l or --placement",
              "without them the agent of the cluster of the current context is upgraded");
}

/// The agent of the cluster that the command is connected to.
Result<Report> upgrade_here(Context& context, const UpgradeAgentOptions& options) {
  // As a connection to the other side: the command's own one leads to the hub.
  FLEETADM_TRY(const auto config, context.rest_config(context.global().config));
  const auto cluster = context.client(config);
  FLEETADM_TRY(const Upgrade upgrade, begin_upgrade(cluster, options.upgrade,
                                                    {"agent", install::kAgentPart, api::kAgentNamespace, api::kAgentDeployment,
                                                     "join it to a hub with: fleetadm join", upgrade::agent_intent}));
  FLEETADM_TRY(Upgraded upgraded, run_upgrade(context, cluster, options.upgrade, upgrade, options.timeout));
  if (!options.wait || !upgraded.changed) return std::move(upgraded.report);
  FLEETADM_CHECK(wait_upgraded(context, cluster, "the agent", api::kAgentNamespace, {api::kAgentDeployment}, options.timeout));
  return std::move(upgraded.report);
}

/// The pod with the agents of all members that are hosted in a namespace of the cluster.
Result<Report> upgrade_hosted(Context& context, const UpgradeAgentOptions& options) {
  FLEETADM_TRY(const auto hosting, hosting_client(context));
  const std::string ns = hosted_namespace(options.member);
  const auto intent = [&ns](const upgrade::Installed& installed, const std::string& image, std::string_view manager) {
    return upgrade::hosting_intent(installed, ns, image, manager);
  };
  FLEETADM_TRY(Upgrade upgrade, begin_upgrade(hosting, options.upgrade,
                                              {"agent", join::kHostingPart, ns, api::kHostedDeployment,
                                               "members are hosted with: fleetadm join --mode hosted", intent, true}));
  FLEETADM_TRY(const auto members, join::hosted_members(hosting, ns));
  std::vector<std::string> names;
  for (const join::HostedMember& member : members) names.push_back(member.cluster);
  upgrade.more["members"] = names;
  upgrade.facts.push_back("The agents of all members in namespace " + ns + " run in this pod, and change with it: " +
                          (names.empty() ? std::string("none") : joined(names, ", ")) + ".");
  upgrade.facts.emplace_back(
      "What is installed on the members (CRDs, accounts, roles) stays; join them again with --mode hosted to renew it.");
  FLEETADM_TRY(Upgraded upgraded, run_upgrade(context, hosting, options.upgrade, upgrade, options.timeout));
  if (!options.wait || !upgraded.changed) return std::move(upgraded.report);
  FLEETADM_CHECK(wait_upgraded(context, hosting, "the agents", ns, {api::kHostedDeployment}, options.timeout));
  return std::move(upgraded.report);
}

Result<Report> run_upgrade_agent(Context& context, const UpgradeAgentOptions& options, const std::vector<std::string>&) {
  if (is_hosted_mode(options.member)) return upgrade_hosted(context, options);
  return of_fleet(options) ? upgrade_fleet(context, fleet_options(options)) : upgrade_here(context, options);
}

}  // namespace

void register_upgrade_agent(Registry& registry) {
  Command command;
  command.path = "upgrade agent";
  command.group = "Fleet";
  command.summary = "Change the agents of clusters to another version";
  command.description =
      "Replaces the agent by that of this version of fleetadm, with the options that its cluster was joined with. It first shows a "
      "plan and asks. Clusters stay joined, and their works keep running; upgrade the hub first (\"upgrade hub\")."
      "\n\nWith --clusters, -l or --placement, on the hub, the agents of several clusters are replaced in batches: a quarter of "
      "them at a time unless rollout flags say otherwise. A cluster has succeeded when its new agent runs, tells the hub its version "
      "and the cluster is available; the old agent runs until the new one is ready, so that an image that cannot be pulled leaves "
      "the cluster as it was. If more clusters fail than --max-failures tolerates (none by default), no further one is begun. The "
      "hub hands the change to each agent as a work, which is deleted afterwards: its Deployment, accounts and roles. CRDs, which "
      "may be another installation's, and what depends on how a cluster was joined (the NetworkPolicy, arguments, rights to "
      "Secrets) are brought up to date on the cluster itself. A cluster whose agent is hosted by another one is left as it is and "
      "counted as a failure, with the command that changes that pod."
      "\n\nWithout them, the agent of the cluster of the current context is replaced, together with everything that join has "
      "installed."
      "\n\nWith --mode hosted, the agents of all members that the cluster of the current context hosts in a namespace are replaced at "
      "once: they are one pod. What is on the members stays as it is."
      "\n\n--to changes back to an earlier version: then only the image is changed.";
  command.examples = {{"See what this version would change on a cluster", "fleetadm upgrade agent --context c1 --plan"},
                      {"Upgrade one cluster without a prompt and wait until the new version is running",
                       "fleetadm upgrade agent --context c1 --yes --wait"},
                      {"The pod with the agents of all members that a cluster hosts",
                       "fleetadm upgrade agent --mode hosted --context hub --plan"},
                      {"From the hub, a canary group first, then a tenth of the clusters at a time",
                       "fleetadm upgrade agent --placement apps/eu --first canary --max-concurrency 10%"},
                      {"Clusters by label, each of which must be healthy for five minutes before the next ones start",
                       "fleetadm upgrade agent -l env=prod --min-success-time 5m --yes"},
                      {"Back to the former version", "fleetadm upgrade agent -l env=prod --to v0.0.9"}};
  command.make = invocation<UpgradeAgentOptions>(bind_upgrade_agent, validate_upgrade_agent, run_upgrade_agent);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
