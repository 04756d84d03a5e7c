// rollout pause, resume, abort and restart: what people ask of a rollout is noted on its set, and the hub's controller obeys.
#include "commands/framework/dry_run.h"
#include "commands/framework/grammar.h"
#include "commands/rollout/addon_control.h"
#include "commands/rollout/addon_status.h"
#include "commands/rollout/rollout.h"
#include "commands/rollout/view.h"
#include "core/api/kinds.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

struct ControlOptions {
  bool wait = true;
  Duration timeout = kWaitTimeout;
  bool failed = false;

  std::optional<Duration> confirm() const { return wait ? std::optional(timeout) : std::nullopt; }
};

/// Sets (or, empty, removes) annotations, and reads them back.
Result<Json> annotate(const kube::Client& hub, const RolloutName& name, const std::map<std::string_view, std::string>& changes) {
  return hub.modify(api::manifest_work_replica_sets(), name.ns, name.name, [&](Json& set) -> Status {
    for (const auto& [key, value] : changes) {
      if (value.empty()) {
        erase_at(set, {"metadata", "annotations", key});
      } else {
        at_or_make(set, {"metadata", "annotations", key}) = value;
      }
    }
    return {};
  });
}

Report said(const Context& context, const RolloutName& name, Json set, const std::string& what) {
  Report report;
  report.data = std::move(set);
  report.lines.push_back("rollout " + name.name + " " + what + dry_run_mark(context));
  report.names.push_back("manifestworkreplicaset.work.open-cluster-management.io/" + name.name);
  return report;
}

/// Asked for, then waited for: what the hub has not confirmed is not called done.
Result<Report> confirmed(Context& context, const kube::Client& hub, const RolloutName& name, const ControlOptions& options,
                         Report report, std::string_view reason, bool negated) {
  if (!options.wait || context.global().dry_run != kube::DryRun::kNone) return report;
  FLEETADM_CHECK(wait_for_reason(context, hub, name, reason, negated, options.timeout));
  return report;
}

Result<Report> pause(Context& context, const ControlOptions& options, const std::vector<std::string>& args) {
  if (const auto addon = addon_of_rollout(args.front())) return pause_addon(context, *addon, options.confirm());
  FLEETADM_TRY(const RolloutName name, rollout_name(context, args.front()));
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const Json before, read_set(hub, name));
  const bool already = work::control_of(before).paused;
  FLEETADM_TRY(Json set, annotate(hub, name, {{work::kPausedAnnotation, "true"}}));
  return confirmed(context, hub, name, options, said(context, name, std::move(set), already ? "is already paused" : "paused"),
                   "Paused", false);
}

Result<Report> resume(Context& context, const ControlOptions& options, const std::vector<std::string>& args) {
  if (const auto addon = addon_of_rollout(args.front())) return resume_addon(context, *addon, options.confirm());
  FLEETADM_TRY(const RolloutName name, rollout_name(context, args.front()));
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const RolloutView view, read_rollout(hub, name, context.clock().now()));
  if (view.plan.aborted) {
    return fail(Category::kConflict, "rollout " + name.name + " was aborted; there is nothing to resume",
                "to continue from where it stopped: fleetadm rollout restart " + name.name + " -n " + name.ns +
                    "; to roll back: fleetadm rollout undo");
  }
  if (!view.plan.paused) return said(context, name, view.set, "is not paused");
  FLEETADM_TRY(Json set, annotate(hub, name, {{work::kPausedAnnotation, ""}}));
  return confirmed(context, hub, name, options, said(context, name, std::move(set), "resumed"), "Paused", true);
}

Result<Report> abort(Context& context, const ControlOptions& options, const std::vector<std::string>& args) {
  if (const auto addon = addon_of_rollout(args.front())) return abort_addon(context, *addon);
  FLEETADM_TRY(const RolloutName name, rollout_name(context, args.front()));
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const RolloutView view, read_rollout(hub, name, context.clock().now()));
  if (view.plan.rolled_out) {
    return fail(Category::kConflict, "rollout " + name.name + " is complete; there is nothing to abort",
                "to return to the previous revision: fleetadm rollout undo " + name.name + " -n " + name.ns);
  }
  if (!view.revision) {
    return fail(Category::kConflict, "the hub has not started this rollout yet", "pause it, or retry in a moment");
  }
  FLEETADM_TRY(
      Json set,
      annotate(hub, name, {{work::kAbortedAnnotation, std::to_string(view.revision->number)}, {work::kPausedAnnotation, ""}}));
  Report report = said(context, name, std::move(set),
                       "aborted: revision " + std::to_string(view.revision->number) + " will not be rolled out to more clusters");
  report.notes.push_back("Clusters already updated keep it; to revert: fleetadm rollout undo " + name.name + " -n " + name.ns);
  return confirmed(context, hub, name, options, std::move(report), "Aborted", false);
}

Result<Report> restart(Context& context, const ControlOptions& options, const std::vector<std::string>& args) {
  if (const auto addon = addon_of_rollout(args.front())) return restart_addon(context, *addon, options.failed);
  FLEETADM_TRY(const RolloutName name, rollout_name(context, args.front()));
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const RolloutView view, read_rollout(hub, name, context.clock().now()));
  if (!view.plan.aborted && !view.plan.failures)
    return said(context, name, view.set, "has no failed clusters; nothing was restarted");
  if (view.plan.failures && !options.failed) {
    return fail(Category::kUsage, "rollout " + name.name + " has failed clusters",
                "show them with: fleetadm rollout status " + name.name + " -n " + name.ns + "; retry them with --failed");
  }
  std::map<std::string_view, std::string> changes{{work::kAbortedAnnotation, ""}};
  if (options.failed) changes[work::kRetryAnnotation] = format_micro_time(context.clock().now());
  FLEETADM_TRY(Json set, annotate(hub, name, changes));
  std::string what = "restarted";
  if (options.failed) {
    const std::size_t tries = view.plan.count(work::Phase::kFailed) + view.plan.count(work::Phase::kTimedOut);
    what += "; retrying " + pluralize(static_cast<std::uint64_t>(tries), "cluster");
  }
  Report report = said(context, name, std::move(set), what);
  if (view.plan.paused) {
    report.notes.push_back("The rollout is still paused; continue it with: fleetadm rollout resume " + name.name + " -n " +
                           name.ns);
    return report;
  }
  if (!view.plan.aborted) return report;
  return confirmed(context, hub, name, options, std::move(report), "Aborted", true);
}

Status fine(const ControlOptions&, const std::vector<std::string>& args) { return check_rollout_name(args); }

void bind_control(FlagSet& flags, ControlOptions& options) {
  wait_flag(flags, &options.wait, "wait until the hub has confirmed it");
  timeout_flag(flags, &options.timeout, "how long to wait");
}

Command row(const std::string& verb, const std::string& summary, const std::string& description) {
  Command command;
  command.path = "rollout " + verb;
  command.group = "Work";
  command.summary = summary;
  command.description = description;
  command.args = {"NAME", 1, 1, false, Complete::kRollouts, {kAddonPrefix}};
  return command;
}

}  // namespace

void register_rollout_control(Registry& registry) {
  Command command =
      row("pause", "Pause a rollout: the hub makes no further changes",
          "Changes in progress on clusters continue; no other cluster is started, changed or cleaned up. Of an add-on "
          "(addon/NAME), clusters that have not begun keep the configurations that they have.");
  command.examples = {{"Pause a rollout", "fleetadm rollout pause web -n apps"},
                      {"Pause the upgrade of an add-on", "fleetadm rollout pause addon/hello --wait=false"}};
  command.make = invocation<ControlOptions>(bind_control, fine, pause);
  registry.add(std::move(command));

  command = row("resume", "Resume a paused rollout", "");
  command.examples = {{"Continue a paused rollout", "fleetadm rollout resume web -n apps"},
                      {"Continue the upgrade of an add-on", "fleetadm rollout resume addon/hello --wait=false"}};
  command.make = invocation<ControlOptions>(bind_control, fine, resume);
  registry.add(std::move(command));

  command =
      row("abort", "Abort a rollout: stop delivering this revision",
          "Clusters already updated keep the revision until \"rollout undo\" or a new template.\n\n"
          "Of an add-on (addon/NAME), what is not complete is set back to the configurations of the last revision that every "
          "cluster had, and rolled out by the same strategy; placements that are complete keep their own configurations.");
  command.examples = {{"Stop delivering a revision", "fleetadm rollout abort web -n apps"}};
  command.make = invocation<ControlOptions>(bind_control, fine, abort);
  registry.add(std::move(command));

  command = row("restart", "Restart an aborted rollout, or retry failed clusters",
                "With --failed, clusters that failed or timed out are retried: their deadline starts again, "
                "and a failure that persists is counted again after one minute. An aborted rollout of an add-on (addon/NAME) "
                "begins with its configurations again.");
  command.examples = {{"After the cause has been fixed", "fleetadm rollout restart web -n apps --failed"}};
  command.make = invocation<ControlOptions>(
      [](FlagSet& flags, ControlOptions& options) {
        bind_control(flags, options);
        flags.boolean(&options.failed, "failed", "retry the clusters that failed or timed out");
      },
      fine, restart);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
