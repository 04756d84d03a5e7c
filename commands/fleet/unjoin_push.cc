#include <optional>
#include <utility>

#include "commands/fleet/changes.h"
#include "commands/fleet/join_push.h"
#include "commands/fleet/unjoin_steps.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/named.h"
#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/registration/join/push_departure.h"
#include "core/registration/join/push_names.h"

namespace fleetadm::commands {
namespace {

namespace r = kube::resources;

/// Of the person where a kubeconfig is named, else with the hub's own credential.
Result<std::optional<join::PushMemberSide>> side_of_member(Context& context, const UnjoinOptions& options,
                                                           const kube::Client& hub, const std::string& hub_id,
                                                           std::string& name) {
  FLEETADM_TRY(const auto config, push_member(context, options.push));
  if (config) {
    const kube::Client member = context.client(*config);
    auto as = join::pushed_as(member, hub_id);
    if (!as) return fail(as.error().wrap("the member"));
    if (!as->empty() && !name.empty() && *as != name) {
      return fail(Category::kConflict, "the hub dials that cluster as \"" + *as + "\", not as \"" + name + "\"",
                  "this may be the wrong cluster; check --member-context");
    }
    if (name.empty()) name = *as;
    return join::PushMemberSide{member, member};
  }
  if (name.empty()) return fail(Category::kUsage, "--push requires --cluster-name, --member-kubeconfig or --member-context");
  return join::push_member_side(hub, name, [&context](const kube::RestConfig& one) { return context.client(one); });
}

/// Not one that has an agent. By which names the hub is there.
Result<api::MemberNames> check_push_member(const kube::Client& hub, const std::string& name) {
  FLEETADM_TRY(const auto cluster, hub.find(api::managed_clusters(), "", name));
  if (cluster && api::is_push_member(*cluster)) return api::member_names(*cluster);
  if (!cluster) return join::stored_names(hub, name);
  return fail(Category::kConflict, "cluster \"" + name + "\" is none that the hub dials",
              "remove it without --push: fleetadm unjoin --context CONTEXT_OF_THE_CLUSTER --hub-context HUB");
}

/// Before anything is removed: works go with the member's help alone.
Status check_answers(const join::PushMemberSide& member, const std::string& hub_id) {
  const auto answer = member.own.find(r::namespaces(), "", api::push_namespace_on_member(hub_id));
  if (answer) return {};
  return fail(answer.error().wrap("the member"));
}

void tell_stays(const join::LeftBehind& left, const std::string& name, const join::MemberAccount& account, Report& report) {
  const std::string& ns = account.ns;
  report.data["left"] = {{"works", left.works}, {"addons", left.addons}, {"namespace", ns}};
  std::string text = "On cluster " + name + " stays the namespace " + ns + " with the hub's accounts";
  if (ns == api::kKarmadaNamespace) text += ", and the ClusterRole and ClusterRoleBinding " + api::karmada_role(name);
  if (!left.works.empty())
    text += ", and what was applied of these works: " + work::some_names({left.works.begin(), left.works.end()});
  report.notes.push_back(text + ".");
  report.notes.push_back(
      "When the cluster is back, remove it there: fleetadm unjoin --push --force --context HUB --cluster-name " + name +
      " --member-context CONTEXT");
}

/// Whether an earlier run came so far that the hub can no longer look: its account there is the last that goes, then its
/// credential.
Result<bool> was_left_before(const kube::Client& hub, const std::string& name, const UnjoinOptions& options, bool reached,
                             const std::optional<Error>& dead) {
  const bool own_credential = options.push.kubeconfig.empty() && options.push.context.empty();
  if (!own_credential || (dead ? dead->category != Category::kAuth : reached)) return false;
  return join::works_were_taken_back(hub, name);
}

void tell_was_left(const std::string& name, Report& report) {
  report.notes.push_back("The hub could no longer look at cluster " + name +
                         ": an earlier run has removed its account there, or given the cluster up. To make sure that nothing "
                         "stays: fleetadm unjoin --push --force --context HUB --cluster-name " +
                         name + " --member-context CONTEXT");
}

}  // namespace

Result<Report> unjoin_push(Context& context, const UnjoinOptions& options) {
  FLEETADM_TRY(const kube::Client hub, push_hub(context));
  auto system = hub.get(r::namespaces(), "", "kube-system");
  if (!system) return fail(system.error().wrap("the hub"));
  const std::string hub_id = uid_of(*system);
  join::DepartureOptions how = departure_options(context, options);
  auto member = side_of_member(context, options, hub, hub_id, how.cluster_name);
  std::optional<join::PushMemberSide> side;
  std::optional<Error> dead;
  if (member) {
    side = *member;
    if (side) {
      if (const Status answers = check_answers(*side, hub_id); !answers) dead = answers.error();
    }
  } else {
    dead = member.error();
  }
  if (how.cluster_name.empty()) {
    if (dead) return fail(*dead);
    return fail(Category::kUsage, "the hub does not dial that cluster", "name the cluster as the hub has it: --cluster-name");
  }
  FLEETADM_TRY(const api::MemberNames names, check_push_member(hub, how.cluster_name));
  FLEETADM_TRY(const bool was_left, was_left_before(hub, how.cluster_name, options, side.has_value(), dead));
  if (was_left) {
    dead.reset();
    side.reset();
  }
  if (dead) {
    if (!options.force)
      return fail(dead->with_hint(
          "bring it back, or give up what is there: --force; with other credentials for it: --member-kubeconfig"));
    context.progress().warn("the cluster is given up: " + dead->message);
    side.reset();
  }
  if (side && !options.orphan) {
    FLEETADM_TRY(const bool let_go, join::works_were_let_go(hub, how.cluster_name));
    if (let_go)
      return fail(Category::kConflict, "cluster \"" + how.cluster_name + "\" is leaving with its workloads left in place",
                  "finish that with --orphan, or take the cluster back: fleetadm join --push");
  }
  const bool orphan = options.orphan && side;
  std::vector<std::string> kept;
  if (orphan) {
    FLEETADM_TRY(kept, works_to_keep(hub, how));
  }
  Report report;
  FLEETADM_TRY(auto plan, confirm_unjoin(context, options, how.cluster_name, &hub, nullptr, report.notes));
  if (plan) {
    if (orphan) tell_kept(kept, how.cluster_name, *plan);
    return std::move(*plan);
  }

  join::LeftBehind left;
  if (!side) {
    FLEETADM_TRY(left, join::left_behind(hub, how.cluster_name));
  }
  UnjoinSteps steps(context);
  if (orphan) {
    const auto let_go = [&]() -> Result<std::vector<install::Change>> {
      FLEETADM_CHECK(join::let_works_go(hub, how));
      return std::vector<install::Change>{};
    };
    FLEETADM_CHECK(steps.run("Ending the hub's works there", let_go));
    FLEETADM_CHECK(steps.run("Releasing what works applied", [&] { return join::release_push_works(*side, hub_id, how); }));
  }
  // The ManagedCluster last: it shows the cluster for as long as the hub has anything there.
  FLEETADM_CHECK(steps.run("Taking its works back", [&] { return join::take_works_back(hub, how); }));
  how.left_hub = true;
  if (side)
    FLEETADM_CHECK(steps.run("Removing what the hub has there", [&] { return join::leave_push_member(*side, hub_id, how); }));
  FLEETADM_CHECK(steps.run("Removing the hub's credential", [&] { return join::drop_push_credential(hub, how); }));
  FLEETADM_CHECK(steps.run("Leaving the fleet on the hub", [&] { return join::forget_on_hub(hub, how); }));
  FLEETADM_CHECK(steps.wait_for_namespace(hub, how));

  steps.tell(how.cluster_name, report);
  if (!steps.changed()) report.notes.push_back("Nothing to do: the hub does not dial a cluster \"" + how.cluster_name + "\".");
  if (orphan && steps.changed()) tell_kept(kept, how.cluster_name, report);
  if (was_left) {
    tell_was_left(how.cluster_name, report);
  } else if (!side && steps.changed()) {
    tell_stays(left, how.cluster_name, join::push_account(names, hub_id, how.cluster_name), report);
  }
  return report;
}

}  // namespace fleetadm::commands
