#include <optional>
#include <utility>

#include "commands/fleet/changes.h"
#include "commands/fleet/unjoin_steps.h"
#include "commands/framework/dry_run.h"
#include "core/api/kinds.h"
#include "core/registration/join/hosted_departure.h"
#include "core/registration/join/hosted_sides.h"

namespace fleetadm::commands {
namespace {

/// The member, where it is named and answers; `name` becomes what it is hosted as. It is never another member's, nor one with an
/// agent of its own.
Result<std::optional<kube::Client>> member_of(Context& context, const UnjoinOptions& options, const std::string& by,
                                              std::string& name) {
  if (!options.member.named()) return std::nullopt;
  FLEETADM_TRY(const HostedSides sides, hosted_sides(context, options.member));
  const auto hosted = join::hosted_as(sides.member);
  if (!hosted && options.force && does_not_answer(hosted.error())) {
    context.progress().warn("the cluster does not answer: " + hosted.error().message);
    return std::nullopt;
  }
  if (!hosted) return fail(hosted.error().wrap("the managed cluster"));
  if (*hosted) {
    const join::Hosting& now = **hosted;
    if (!name.empty() && name != now.cluster) {
      return fail(Category::kConflict, "the managed cluster is hosted as \"" + now.cluster + "\", not as \"" + name + "\"",
                  "this may be the wrong cluster; check --managed-cluster-context");
    }
    if (now.by != by) {
      return fail(Category::kConflict, "the managed cluster is hosted by " + now.by + ", and this is " + by,
                  "check --context and --hosted-namespace");
    }
    name = now.cluster;
    return sides.member;
  }
  FLEETADM_TRY(const auto agent, sides.member.find(kube::resources::deployments(), api::kAgentNamespace, api::kAgentDeployment));
  if (agent) {
    return fail(Category::kConflict, "the managed cluster runs an agent of its own",
                "remove that one without --mode hosted; or check --managed-cluster-context");
  }
  return sides.member;
}

}  // namespace

Result<Report> unjoin_hosted(Context& context, const UnjoinOptions& options) {
  FLEETADM_TRY(const auto hosting, hosting_client(context));
  const std::string ns = hosted_namespace(options.member);
  FLEETADM_TRY(const std::string by, join::hosting_by(hosting, ns));
  join::DepartureOptions how = departure_options(context, options);
  FLEETADM_TRY(const auto member, member_of(context, options, by, how.cluster_name));
  if (how.cluster_name.empty())
    return fail(Category::kUsage, "the cluster cannot tell the name it joined under", "pass --cluster-name");
  std::optional<kube::Client> hub;
  FLEETADM_TRY(const auto hub_config, hub_side(context, options.hub));
  if (hub_config) hub = context.client(*hub_config);
  Report report;
  FLEETADM_TRY(auto plan, confirm_unjoin(context, options, how.cluster_name, hub ? &*hub : nullptr, member ? &*member : nullptr,
                                         report.notes));
  if (plan) return std::move(*plan);

  join::LeftBehind left;
  if (hub && !member) {
    FLEETADM_TRY(left, join::left_behind(*hub, how.cluster_name));
  }
  UnjoinSteps steps(context);
  if (hub) FLEETADM_CHECK(steps.run("Leaving the fleet on the hub", [&] { return join::leave_on_hub(*hub, how); }));
  how.left_hub = hub.has_value();
  if (member) FLEETADM_CHECK(join::check_no_applied_works(*member, how));
  FLEETADM_CHECK(steps.run("Ending its agent", [&] { return join::leave_hosting(hosting, ns, how); }));
  if (member)
    FLEETADM_CHECK(steps.run("Removing what was installed for it", [&] { return join::leave_on_member(*member, how); }));
  FLEETADM_CHECK(steps.run("Tidying the hosting cluster", [&] { return join::finish_hosting(hosting, ns, how); }));
  if (hub) FLEETADM_CHECK(steps.wait_for_namespace(*hub, how));
  FLEETADM_TRY(const std::string release, join::release_of_program(hosting, ns));

  steps.tell(how.cluster_name, report);
  if (!steps.changed())
    report.notes.push_back("Nothing to do: cluster \"" + how.cluster_name + "\" is not hosted in namespace " + ns + ".");
  if (!member && steps.changed()) tell_left_behind(left, how.cluster_name, "the accounts and roles of its agent", report);
  if (!hub && steps.changed()) tell_hub_left(how.cluster_name, report);
  if (!release.empty()) {
    report.notes.push_back("The pod with the hosted agents stays: it belongs to the Helm release \"" + release +
                           "\". Without members: helm uninstall " + release);
  }
  return report;
}

}  // namespace fleetadm::commands
