#include "commands/fleet/join_hosted.h"

#include <algorithm>
#include <utility>

#include "commands/fleet/changes.h"
#include "commands/fleet/join_steps.h"
#include "commands/fleet/member_kubeconfig.h"
#include "commands/framework/dry_run.h"
#include "core/api/hosted_member.h"
#include "core/api/kinds.h"
#include "core/registration/join/agent_id.h"
#include "core/registration/join/agent_manifests.h"
#include "core/registration/join/hosted_manifests.h"
#include "core/registration/join/hosted_members.h"
#include "core/registration/join/hosted_sides.h"
#include "core/registration/join/hub_secrets.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

namespace r = kube::resources;

/// What the hosting cluster has already.
struct Found {
  std::string kubeconfig;         // of the member's Secret
  std::vector<std::string> args;  // likewise
  std::optional<Json> deployment;
  std::size_t others = 0;  // members
};

Result<Found> look_around(const kube::Client& hosting, const std::string& ns, const std::string& cluster) {
  Found found;
  FLEETADM_TRY(const auto members, join::hosted_members(hosting, ns));
  for (const join::HostedMember& member : members) {
    if (member.secret != api::hosted_member_secret(cluster)) {
      ++found.others;
      continue;
    }
    found.kubeconfig = member.kubeconfig;
    found.args = member.args;
  }
  FLEETADM_TRY(found.deployment, hosting.find(r::deployments(), ns, api::kHostedDeployment));
  if (found.deployment && label_of(*found.deployment, install::kPartLabel) != join::kHostingPart) {
    return fail(Category::kConflict,
                "the Deployment " + std::string(api::kHostedDeployment) + " in namespace " + ns + " was not made by fleetadm",
                "remove it, or choose another namespace with --hosted-namespace");
  }
  return found;
}

bool told_of_program(const JoinOptions& options, const install::PodSettings& pods) {
  const ImageOptions& image = options.image;
  return !image.image.empty() || !image.registry.empty() || !image.policy.empty() || !image.secrets.empty() ||
         !image.credential_file.empty() || options.network_policy || !(pods == install::PodSettings{});
}

/// What is installed where.
struct HostedPlan {
  std::vector<Json> on_member;
  std::vector<Json> on_hosting;
  join::MemberSecrets secrets;  // without the kubeconfig
  bool keeps_program = false;
  std::string agent_id;
};

Result<HostedPlan> make_plan(Context& context, const HostedJoin& join, const join::Hosting& hosting, const Found& found) {
  const JoinOptions& options = join.options;
  const std::string ns = hosted_namespace(options.member);
  HostedPlan plan;
  plan.secrets.args = agent_args_of(options);
  FLEETADM_TRY(plan.on_member, join::member_objects(hosting, join::reports_figures(plan.secrets.args)));
  FLEETADM_TRY(DeployedImage image, deployed_image(context, options.image, ns));
  join::HostedAgents agents;
  agents.ns = ns;
  agents.image = image.image;
  agents.network_policy = options.network_policy;
  agents.image_pull = image.pull;
  agents.image_pull_secret = image.secret;
  agents.pods = pods_of(options, join.file);
  // Others run in it: only what this command says changes it.
  plan.keeps_program = found.deployment && !told_of_program(options, agents.pods);
  if (!plan.keeps_program) warn_of_missing_image(context, join.sides.hosting, image);
  FLEETADM_TRY(plan.on_hosting, join::hosting_objects(agents));
  if (plan.keeps_program)
    std::erase_if(plan.on_hosting, [](const Json& object) { return str(object, {"kind"}) == "Deployment"; });
  plan.secrets.ns = ns;
  plan.secrets.cluster = options.cluster_name;
  plan.secrets.by = hosting.by;
  plan.secrets.bootstraps = join.bootstraps;
  FLEETADM_TRY(const join::AgentId id, join::choose_hosted_agent_id(join.sides.hosting, ns, options.cluster_name,
                                                                    plan.secrets.args, found.args, !is_dry(context)));
  plan.agent_id = id.id;
  if (!id.arg.empty()) plan.secrets.args.push_back(id.arg);
  return plan;
}

void print_plan(Context& context, const JoinOptions& options, HostedPlan plan, Report& report) {
  for (Json& claim : claim_objects(options)) plan.on_member.push_back(std::move(claim));
  for (Json& secret : join::member_secrets(plan.secrets)) plan.on_hosting.push_back(std::move(secret));
  report.notes.insert(report.notes.end(), report.lines.begin(), report.lines.end());
  (void)context.terminal().write_stdout("# Of the managed cluster\n");
  print_manifests(context, install::kAgentPart, plan.on_member, report);
  (void)context.terminal().write_stdout("# Of the hosting cluster\n");
  print_manifests(context, join::kHostingPart, plan.on_hosting, report);
  report.notes.push_back("The documents belong on two clusters: those with the label " + std::string(install::kPartLabel) + "=" +
                         std::string(join::kHostingPart) + " on the hosting cluster, all others on the managed one.");
}

void tell_program(const HostedPlan& plan, const Found& found, const std::string& ns, Report& report) {
  if (found.others == 0) return;
  report.notes.push_back("The agents of " + pluralize(found.others, "other member") + " run in the same pod (namespace " + ns +
                         ")" + (plan.keeps_program ? ", which stays as it is: --image changes it for all of them." : "."));
}

}  // namespace

Result<Report> join_hosted(Context& context, const HostedJoin& join, Report report) {
  const JoinOptions& options = join.options;
  const HostedSides& sides = join.sides;
  const std::string ns = hosted_namespace(options.member);
  join::Hosting hosting{options.cluster_name, join.endpoint.server, {}};
  FLEETADM_TRY(hosting.by, join::hosting_by(sides.hosting, ns));
  FLEETADM_CHECK(join::check_hostable(sides.hosting, ns, sides.member, hosting));
  FLEETADM_TRY(const Found found, look_around(sides.hosting, ns, options.cluster_name));
  FLEETADM_TRY(HostedPlan plan, make_plan(context, join, hosting, found));
  MemberKubeconfig kubeconfig(context, sides, way_to_member(context, options.member_apiserver, sides.member_config),
                              found.kubeconfig);
  if (wants_manifests(context)) {
    plan.secrets.kubeconfig = kubeconfig.of_dry_run();
    print_plan(context, options, std::move(plan), report);
    return report;
  }
  using Changes = std::vector<install::Change>;
  const auto on_member = [&]() -> Result<Changes> {
    const install::Options how = options_with_progress(context, install::kAgentPart, options.timeout);
    FLEETADM_TRY(auto done, install::apply_all(sides.member, std::move(plan.on_member), how));
    FLEETADM_CHECK(set_claims(sides.member, options, done));
    return done;
  };
  FLEETADM_TRY(Changes changes, step_with_progress(context, "Installing what the agent needs on the managed cluster", on_member));
  if (is_dry(context)) {
    plan.secrets.kubeconfig = kubeconfig.of_dry_run();
  } else {
    FLEETADM_TRY(plan.secrets.kubeconfig, kubeconfig.get());
  }
  const auto on_hosting = [&]() -> Result<Changes> {
    const install::Options how = options_with_progress(context, join::kHostingPart, options.timeout);
    auto objects = std::move(plan.on_hosting);
    // Before the program, and the namespace before them.
    const auto deployment =
        std::find_if(objects.begin(), objects.end(), [](const Json& object) { return str(object, {"kind"}) == "Deployment"; });
    auto secrets = join::member_secrets(plan.secrets);
    objects.insert(deployment, std::make_move_iterator(secrets.begin()), std::make_move_iterator(secrets.end()));
    FLEETADM_TRY(auto done, install::apply_all(sides.hosting, std::move(objects), how));
    FLEETADM_TRY(const auto dropped,
                 join::drop_further_hubs(sides.hosting, ns, api::hosted_bootstrap_secret(options.cluster_name),
                                         join.bootstraps.size(), join::kHostingPart));
    done.insert(done.end(), dropped.begin(), dropped.end());
    return done;
  };
  FLEETADM_TRY(const Changes hosted, step_with_progress(context, "Installing the agent on the hosting cluster", on_hosting));
  changes.insert(changes.end(), hosted.begin(), hosted.end());
  if (options.wait != "none" && !is_dry(context))
    FLEETADM_CHECK(wait_for_cluster(context, {sides.hosting, ns, std::string(api::kHostedDeployment)}, join.hub, options));
  report.data["mode"] = "hosted";
  report.data["hosted-namespace"] = ns;
  finish_join(context, options.cluster_name, changes, plan.agent_id, report);
  tell_program(plan, found, ns, report);
  return report;
}

}  // namespace fleetadm::commands
