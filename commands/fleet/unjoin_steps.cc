#include "commands/fleet/unjoin_steps.h"

#include <algorithm>
#include <utility>

#include "commands/framework/dry_run.h"
#include "core/registration/join/blockers.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

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
Status add_blockers(const UnjoinOptions& options, const std::string& name, const kube::Client* hub, const kube::Client* here,
                    Report& plan) {
  std::vector<join::Blocker> blockers;
  if (hub != nullptr) {
    FLEETADM_TRY(blockers, join::hub_blockers(*hub, name));
  }
  if (!options.hub_only && hub == nullptr && here != nullptr) {
    FLEETADM_TRY(blockers, join::spoke_blockers(*here));
  }
  plan.data["blockers"] = join::to_json(blockers);
  std::vector<std::string> texts;
  for (const join::Blocker& blocker : blockers) texts.push_back(std::to_string(texts.size() + 1) + ". " + blocker.text());
  if (!texts.empty()) texts.insert(texts.begin(), "What has to go first, in this order:");
  plan.notes.insert(plan.notes.begin(), texts.begin(), texts.end());
  return {};
}

}  // namespace

Result<std::optional<Report>> confirm_unjoin(Context& context, const UnjoinOptions& options, const std::string& name,
                                             const kube::Client* hub, const kube::Client* spoke,
                                             std::vector<std::string>& notes) {
  const GuardOptions& guard = options.guard;
  const std::string called = name.empty() ? "this cluster" : name;
  if (guard.allow && !guard.plan) return std::nullopt;
  work::Impact impact;
  std::string what = "removing the agent from cluster " + called;
  if (options.orphan) {
    what = "removing cluster " + name + " from the fleet, whose workloads stay";
  } else if (hub != nullptr) {
    const ProposedChange change = departure_from_hub(name);
    what = change.what;
    auto computed = impact_of(*hub, change, context.clock().now(), guard.plan);
    if (!computed) return tl::unexpected(not_computed(computed.error(), guard, what));
    impact = std::move(*computed);
  } else if (spoke != nullptr) {
    FLEETADM_TRY(impact, lost_on_spoke(*spoke, called, options.force));
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

void tell_left_behind(const join::LeftBehind& left, const std::string& name, const std::string& what, Report& report) {
  report.data["left"] = {{"works", left.works}, {"addons", left.addons}};
  std::string text = "On cluster " + name + " stay " + what;
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

Result<std::vector<std::string>> works_to_keep(const kube::Client& hub, join::DepartureOptions& how) {
  FLEETADM_TRY(how.hub_works, join::works_of_hub(hub, how.cluster_name));
  FLEETADM_TRY(join::LeftBehind left, join::left_behind(hub, how.cluster_name));
  std::erase_if(left.works, [&](const std::string& work) { return how.hub_works.contains(work); });
  return left.works;
}

void tell_kept(const std::vector<std::string>& works, const std::string& name, Report& report) {
  report.data["kept"] = works;
  if (works.empty()) return;
  report.notes.push_back("What these works applied stays on cluster " + name +
                         ", and nothing looks after it any more: " + work::some_names({works.begin(), works.end()}) + ".");
}

void tell_hub_left(const std::string& name, Report& report) {
  report.notes.push_back(
      "The hub still lists the cluster and will show it as unknown. Remove it there too: fleetadm unjoin "
      "--hub-only --context HUB --cluster-name " +
      (name.empty() ? std::string("NAME") : name));
}

Status UnjoinSteps::run(std::string_view title, const std::function<Result<std::vector<install::Change>>()>& leave) {
  FLEETADM_TRY(const auto done, step_with_progress(context_, title, leave));
  changes_.insert(changes_.end(), done.begin(), done.end());
  return {};
}

Status UnjoinSteps::wait_for_namespace(const kube::Client& hub, const join::DepartureOptions& how) {
  const bool goes = std::any_of(changes_.begin(), changes_.end(), [&](const install::Change& change) {
    return change.kind == kube::resources::namespaces().kind && change.name == how.cluster_name &&
           change.action == install::Action::kDeleted;
  });
  if (!goes || is_dry(context_)) return {};
  return run("Waiting for the hub to remove its namespace", [&]() -> Result<std::vector<install::Change>> {
    FLEETADM_CHECK(join::wait_for_namespace(hub, how));
    return std::vector<install::Change>{};
  });
}

void UnjoinSteps::tell(const std::string& cluster, Report& report) const {
  report.data = Json{{"kind", "UnjoinReport"}, {"cluster-name", cluster}, {"changes", install::to_json(changes_)}};
  report.lines = change_lines(changes_, dry_run_mark(context_));
  report.names = change_names(changes_);
}

bool does_not_answer(const Error& error) {
  return error.category == Category::kUnavailable || error.category == Category::kTimeout;
}

join::DepartureOptions departure_options(Context& context, const UnjoinOptions& options) {
  join::DepartureOptions how;
  how.cluster_name = options.cluster_name;
  how.orphan = options.orphan;
  how.force = options.force || options.orphan;
  how.keep_namespace = options.keep_namespace;
  how.timeout = options.timeout;
  how.stop = context.stop();
  how.told = [&context](std::string_view what) { context.progress().note(what); };
  return how;
}

}  // namespace fleetadm::commands
