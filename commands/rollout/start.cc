// rollout start: new manifests for what a placement selects, begun by a strategy.
#include "commands/framework/caller.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/grammar.h"
#include "commands/framework/targets.h"
#include "commands/rollout/change.h"
#include "commands/rollout/rollout.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

struct StartOptions {
  ChangeOptions change;
  WorkGuardOptions guard;
  bool wait = false;
  Duration timeout = kNoTimeout;
};

void sign(Json& set, const std::string& who) {
  if (who.empty()) return;
  at_or_make(set, {"metadata", "annotations", work::kChangedByAnnotation}) =
      work::work_spec_hash(object_at(set, {"spec", "manifestWorkTemplate"})) + " " + who;
}

Result<Report> run_start(Context& context, const StartOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const RolloutChange change, read_change(context, options.change, args.front()));
  const RolloutName& name = change.name;
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_CHECK(check_placement(hub, change));
  const std::string who = caller(hub);
  Result<std::optional<Json>> before = hub.find(api::manifest_work_replica_sets(), name.ns, name.name);
  if (!before) return tl::unexpected(on_hub(before.error()));
  Report report;
  report.names.push_back("manifestworkreplicaset.work.open-cluster-management.io/" + name.name);
  if (!*before) {
    Json set = empty_set(name);
    FLEETADM_CHECK(change.apply_to(set));
    FLEETADM_CHECK(check_first(hub, set, change.placement, change.strategy));
    if (options.guard.guard.plan) return removal_plan(hub, "this rollout", name.ns + "/" + name.name, {});
    sign(set, who);
    FLEETADM_TRY(report.data, hub.create(api::manifest_work_replica_sets(), name.ns, set));
    report.lines.push_back("rollout " + name.name + " started" + dry_run_mark(context));
  } else {
    if (is_deleting(**before))
      return fail(Category::kConflict, "rollout " + name.name + " is being deleted", "wait until it has been deleted");
    FLEETADM_TRY(const RolloutView view, view_rollout(hub, std::move(**before), context.clock().now()));
    Json wanted = view.set;
    FLEETADM_CHECK(change.apply_to(wanted));
    FLEETADM_CHECK(check_first(hub, wanted, change.placement, change.strategy));
    if (!options.guard.guard.allow || options.guard.guard.plan) {
      FLEETADM_TRY(const work::Removals removals, removals_of(hub, view, wanted));
      if (options.guard.guard.plan) return removal_plan(hub, "this rollout", name.ns + "/" + name.name, removals);
      FLEETADM_CHECK(check_removals(context, hub, options.guard, "this rollout", removals, report.notes));
    }
    const bool same_success =
        annotation_of(wanted, work::kSuccessAnnotation) == annotation_of(view.set, work::kSuccessAnnotation);
    if (same_success && object_at(wanted, {"spec"}) == object_at(view.set, {"spec"})) {
      report.data = view.set;
      report.lines.push_back("rollout " + name.name + " unchanged" + dry_run_mark(context));
    } else {
      FLEETADM_TRY(report.data, hub.modify(api::manifest_work_replica_sets(), name.ns, name.name, [&](Json& set) -> Status {
        FLEETADM_CHECK(change.apply_to(set));
        sign(set, who);
        return {};
      }));
      report.lines.push_back("rollout " + name.name + " started; the previous manifests are kept as a revision" +
                             dry_run_mark(context));
    }
    if (view.plan.paused)
      report.notes.push_back("The rollout is paused; start it with: fleetadm rollout resume " + name.name + " -n " + name.ns);
  }
  if (context.global().dry_run != kube::DryRun::kNone || !options.wait) {
    report.notes.push_back("Watch it: fleetadm rollout status " + name.name + " -n " + name.ns + " -w");
    return report;
  }
  return watch_rollout(context, hub, name, options.timeout);
}

void bind_start(FlagSet& flags, StartOptions& options) {
  bind_change(flags, options.change);
  flags.flags().front().required = true;  // -f
  bind_work_guard(flags, options.guard);
  wait_flag(flags, &options.wait, "wait until the rollout ends, like rollout status -w");
  timeout_flag(flags, &options.timeout, "how long to wait");
}

Status validate_start(const StartOptions& options, const std::vector<std::string>&) {
  if (options.change.files.empty()) return fail(Category::kUsage, "no manifests given", "use -f FILE, -f FOLDER or -f -");
  FLEETADM_CHECK(validate_work_guard(options.guard));
  return validate_change(options.change);
}

}  // namespace

void register_rollout_start(Registry& registry) {
  Command command;
  command.path = "rollout start";
  command.group = "Work";
  command.summary = "Roll out manifests to the clusters that a placement selects";
  command.description =
      "Creates a ManifestWorkReplicaSet, or updates the manifests of an existing one (and its placement "
      "and strategy, if given). The hub does the rest: the rollout continues after this command exits. "
      "Use \"rollout plan\" to preview it.";
  command.args = {"NAME", 1, 1, false, Complete::kRollouts};
  command.examples = {{"A canary group first, then a quarter at a time",
                       "fleetadm rollout start web -f web.yaml --placement apps/eu --first canary --max-concurrency 25%"},
                      {"Roll out a new version and wait", "fleetadm rollout start web -n apps -f web.yaml --wait --timeout 30m"}};
  command.make = invocation<StartOptions>(bind_start, validate_start, run_start);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
