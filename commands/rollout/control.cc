// rollout pause, resume, abort and restart: what people ask of a rollout is noted on its set, and the hub's controller obeys.
#include "commands/rollout/rollout.h"
#include "commands/rollout/view.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

struct ControlOptions {
  Duration timeout = std::chrono::seconds(30);
  bool failed = false;
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

Report said(const RolloutName& name, Json set, const std::string& what) {
  Report report;
  report.data = std::move(set);
  report.lines.push_back("rollout " + name.name + " " + what);
  report.names.push_back("manifestworkreplicaset.work.open-cluster-management.io/" + name.name);
  return report;
}

/// Asked for, then waited for: what the hub has not confirmed is not called done.
Result<Report> confirmed(Context& context, const kube::Client& hub, const RolloutName& name, const ControlOptions& options,
                         Report report, std::string_view reason, bool negated) {
  if (context.global().dry_run != kube::DryRun::kNone) return report;
  FLEETADM_CHECK(wait_for_reason(context, hub, name, reason, negated, options.timeout));
  return report;
}

Result<Report> pause(Context& context, const ControlOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const RolloutName name, rollout_name(context, args.front()));
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const Json before, read_set(hub, name));
  const bool already = work::control_of(before).paused;
  FLEETADM_TRY(Json set, annotate(hub, name, {{work::kPausedAnnotation, "true"}}));
  return confirmed(context, hub, name, options, said(name, std::move(set), already ? "is paused already" : "paused"), "Paused",
                   false);
}

Result<Report> resume(Context& context, const ControlOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const RolloutName name, rollout_name(context, args.front()));
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const RolloutView view, read_rollout(hub, name, context.clock().now()));
  if (view.plan.aborted) {
    return fail(Category::kConflict, "rollout " + name.name + " was aborted: there is nothing to resume",
                "fleetadm rollout restart " + name.name + " begins where it was; fleetadm rollout undo goes back");
  }
  if (!view.plan.paused) return said(name, view.set, "is not paused");
  FLEETADM_TRY(Json set, annotate(hub, name, {{work::kPausedAnnotation, ""}}));
  return confirmed(context, hub, name, options, said(name, std::move(set), "resumed"), "Paused", true);
}

Result<Report> abort(Context& context, const ControlOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const RolloutName name, rollout_name(context, args.front()));
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const RolloutView view, read_rollout(hub, name, context.clock().now()));
  if (view.plan.rolled_out) {
    return fail(Category::kConflict, "rollout " + name.name + " is complete: there is nothing to abort",
                "fleetadm rollout undo " + name.name + " goes back to the revision before");
  }
  if (!view.revision) {
    return fail(Category::kConflict, "the hub has not begun this rollout yet", "pause it, or try again in a moment");
  }
  FLEETADM_TRY(
      Json set,
      annotate(hub, name, {{work::kAbortedAnnotation, std::to_string(view.revision->number)}, {work::kPausedAnnotation, ""}}));
  Report report =
      said(name, std::move(set), "aborted: no further cluster gets revision " + std::to_string(view.revision->number));
  report.notes.push_back("Clusters that have it keep it: fleetadm rollout undo " + name.name + " takes it back");
  return confirmed(context, hub, name, options, std::move(report), "Aborted", false);
}

Result<Report> restart(Context& context, const ControlOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const RolloutName name, rollout_name(context, args.front()));
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const RolloutView view, read_rollout(hub, name, context.clock().now()));
  if (!view.plan.aborted && !view.plan.failures) return said(name, view.set, "has no failed cluster: nothing is restarted");
  if (view.plan.failures && !options.failed) {
    return fail(Category::kUsage, "rollout " + name.name + " has failed clusters",
                "look at fleetadm rollout status " + name.name + "; --failed gives them another try");
  }
  std::map<std::string_view, std::string> changes{{work::kAbortedAnnotation, ""}};
  if (options.failed) changes[work::kRetryAnnotation] = format_micro_time(context.clock().now());
  FLEETADM_TRY(Json set, annotate(hub, name, changes));
  std::string what = "restarted";
  if (options.failed) {
    const std::size_t tries = view.plan.count(work::Phase::kFailed) + view.plan.count(work::Phase::kTimedOut);
    what += ": another try for " + std::to_string(tries) + (tries == 1 ? " cluster" : " clusters");
  }
  Report report = said(name, std::move(set), what);
  if (view.plan.paused) {
    report.notes.push_back("It is still paused: fleetadm rollout resume " + name.name);
    return report;
  }
  if (!view.plan.aborted) return report;
  return confirmed(context, hub, name, options, std::move(report), "Aborted", true);
}

Status fine(const ControlOptions&, const std::vector<std::string>&) { return {}; }

void bind_control(FlagSet& flags, ControlOptions& options) {
  flags.duration(&options.timeout, "timeout", "how long to wait until the hub confirms").default_text = "30s";
}

Command row(const std::string& verb, const std::string& summary, const std::string& description) {
  Command command;
  command.path = "rollout " + verb;
  command.group = "Work";
  command.summary = summary;
  command.description = description;
  command.args = {"NAME", 1, 1, false, Complete::kWorks};
  return command;
}

}  // namespace

void register_rollout_control(Registry& registry) {
  Command command = row("pause", "Hold a rollout: the hub writes nothing for it any more",
                        "What is under way on clusters goes on there; no further cluster is begun, changed or cleaned up.");
  command.examples = {{"Hold everything", "fleetadm rollout pause web -n apps"}};
  command.make = invocation<ControlOptions>(bind_control, fine, pause);
  registry.add(std::move(command));

  command = row("resume", "Let a paused rollout go on", "");
  command.examples = {{"Go on", "fleetadm rollout resume web -n apps"}};
  command.make = invocation<ControlOptions>(bind_control, fine, resume);
  registry.add(std::move(command));

  command = row("abort", "Give a rollout up: no further cluster gets this revision",
                "Clusters that have the revision keep it until rollout undo, or a new template.");
  command.examples = {{"Stop here", "fleetadm rollout abort web -n apps"}};
  command.make = invocation<ControlOptions>(bind_control, fine, abort);
  registry.add(std::move(command));

  command = row("restart", "Go on with an aborted rollout, or give failed clusters another try",
                "With --failed, what has failed or timed out counts as under way again: its deadline begins anew, and a failure "
                "that stays counts again after a minute.");
  command.examples = {{"After the cause was repaired", "fleetadm rollout restart web -n apps --failed"}};
  command.make = invocation<ControlOptions>(
      [](FlagSet& flags, ControlOptions& options) {
        bind_control(flags, options);
        flags.boolean(&options.failed, "failed", "another try for the clusters that failed or timed out");
      },
      fine, restart);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
