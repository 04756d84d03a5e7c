// rollout history and undo: the revisions of a set, and the way back.
#include <algorithm>

#include "commands/framework/caller.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/listing.h"
#include "commands/rollout/addon_history.h"
#include "commands/rollout/addon_status.h"
#include "commands/rollout/change.h"
#include "commands/rollout/rollout.h"
#include "commands/rollout/view.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

struct HistoryOptions {
  std::int64_t revision = 0;  // show this one
};

struct UndoOptions {
  std::int64_t revision = 0;  // go to this one; 0: the one before
  AddonGuardOptions guard;
};

std::string outcome_of(const work::Revision& revision, bool newest) {
  if (!revision.outcome.empty()) return revision.outcome;
  return newest ? "InProgress" : std::string(work::kOutcomeSuperseded);
}

Result<Json> revision_object(const kube::Client& hub, const Json& set, const work::Revision& revision) {
  FLEETADM_TRY(std::optional<Json> object, hub.find(work::controller_revisions(), namespace_of(set), revision.name));
  if (object) return std::move(*object);
  return fail(Category::kNotFound, "revision " + std::to_string(revision.number) + " no longer exists");
}

Result<const work::Revision*> numbered(const std::vector<work::Revision>& revisions, std::int64_t number,
                                       const std::string& name) {
  for (const work::Revision& one : revisions) {
    if (one.number == number) return &one;
  }
  return fail(Category::kNotFound, "rollout " + name + " has no revision " + std::to_string(number),
              "list the revisions with: fleetadm rollout history " + name);
}

Json data_of(const work::Revision& one, bool newest) {
  Json entry{{"revision", one.number}, {"outcome", outcome_of(one, newest)}, {"templateHash", one.hash}};
  if (!one.by.empty()) entry["by"] = one.by;
  if (one.started) entry["started"] = format_time(*one.started);
  if (one.finished) entry["finished"] = format_time(*one.finished);
  if (one.copied_from > 0) entry["copiedFrom"] = one.copied_from;
  return entry;
}

Result<Report> history(Context& context, const HistoryOptions& options, const std::vector<std::string>& args) {
  if (const auto addon = addon_of_rollout(args.front())) return addon_history(context, *addon, options.revision);
  FLEETADM_TRY(const RolloutName name, rollout_name(context, args.front()));
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const Json set, read_set(hub, name));
  FLEETADM_TRY(const std::vector<work::Revision> revisions, read_revisions(hub, set));
  Report report;
  if (options.revision > 0) {
    FLEETADM_TRY(const work::Revision* chosen, numbered(revisions, options.revision, name.name));
    FLEETADM_TRY(const Json object, revision_object(hub, set, *chosen));
    report.data = data_of(*chosen, chosen == &revisions.back());
    report.data["kind"] = "RolloutRevision";
    report.data["manifestWorkTemplate"] = object_at(object, {"data", "manifestWorkTemplate"});
    for (const Json& manifest : list_at(report.data, {"manifestWorkTemplate", "workload", "manifests"})) {
      const std::string ns = namespace_of(manifest);
      report.lines.push_back(str(manifest, {"kind"}) + " " + (ns.empty() ? "" : ns + "/") + name_of(manifest));
    }
    return report;
  }
  const Instant now = context.clock().now();
  report.table = Table{{{"REVISION"}, {"OUTCOME"}, {"AGE"}, {"TOOK"}, {"BY"}, {"NOTE"}},
                       {},
                       "No revisions found (only fleetadm's hub controllers record them)."};
  Json items = Json::array();
  for (const work::Revision& one : revisions) {
    const bool newest = &one == &revisions.back();
    const std::string took = one.started && one.finished ? format_age(*one.started, *one.finished) : "<none>";
    report.table->rows.push_back(
        {std::to_string(one.number), outcome_of(one, newest), one.started ? format_age(*one.started, now) : "<unknown>", took,
         or_none(one.by), one.copied_from > 0 ? "same template as revision " + std::to_string(one.copied_from) : "<none>"});
    items.push_back(data_of(one, newest));
  }
  report.data = Json{{"kind", "RolloutHistory"}, {"namespace", name.ns}, {"name", name.name}, {"items", std::move(items)}};
  return report;
}

/// The one asked for, or the newest before whose template is another.
Result<const work::Revision*> former(const std::vector<work::Revision>& revisions, const std::string& hash, std::int64_t number,
                                     const std::string& name) {
  if (number > 0) return numbered(revisions, number, name);
  const auto found =
      std::find_if(revisions.rbegin(), revisions.rend(), [&](const work::Revision& one) { return one.hash != hash; });
  if (found != revisions.rend()) return &*found;
  return fail(Category::kNotFound, "rollout " + name + " has no previous revision",
              "list the revisions with: fleetadm rollout history " + name);
}

Result<Report> undo(Context& context, const UndoOptions& options, const std::vector<std::string>& args) {
  if (const auto addon = addon_of_rollout(args.front())) {
    return undo_addon(context, *addon, options.revision, options.guard);
  }
  FLEETADM_TRY(const RolloutName name, rollout_name(context, args.front()));
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const Json before, read_set(hub, name));
  FLEETADM_TRY(const std::vector<work::Revision> revisions, read_revisions(hub, before));
  const std::string hash = work::work_spec_hash(object_at(before, {"spec", "manifestWorkTemplate"}));
  FLEETADM_TRY(const work::Revision* target, former(revisions, hash, options.revision, name.name));
  const std::string number = std::to_string(target->number);
  Report report;
  report.names.push_back("manifestworkreplicaset.work.open-cluster-management.io/" + name.name);
  if (target->hash == hash) {
    report.lines.push_back("rollout " + name.name + " already has the template of revision " + number + dry_run_mark(context));
    report.data = before;
    return report;
  }
  FLEETADM_TRY(const Json object, revision_object(hub, before, *target));
  const Json& wanted = object_at(object, {"data", "manifestWorkTemplate"});
  if (!options.guard.removals.guard.allow || options.guard.removals.guard.plan) {
    Json after = before;
    at_or_make(after, {"spec", "manifestWorkTemplate"}) = wanted;
    FLEETADM_TRY(const RolloutView view, view_rollout(hub, before, context.clock().now()));
    FLEETADM_TRY(const work::Removals removals, removals_of(hub, view, after));
    const std::string what = "rolling back " + name.name;
    if (options.guard.removals.guard.plan) return removal_plan(hub, what, name.ns + "/" + name.name, removals);
    FLEETADM_CHECK(check_removals(context, hub, options.guard.removals, what, removals, report.notes));
  }
  const std::string who = caller(hub);
  FLEETADM_TRY(report.data, hub.modify(api::manifest_work_replica_sets(), name.ns, name.name, [&](Json& set) -> Status {
    if (work::work_spec_hash(object_at(set, {"spec", "manifestWorkTemplate"})) != hash) {
      return fail(Category::kConflict, "the template was changed in the meantime",
                  "show its revisions with: fleetadm rollout history " + name.name + " -n " + name.ns);
    }
    at_or_make(set, {"spec", "manifestWorkTemplate"}) = wanted;
    erase_at(set, {"metadata", "annotations", work::kAbortedAnnotation});
    if (!who.empty()) {
      at_or_make(set, {"metadata", "annotations", work::kChangedByAnnotation}) = work::work_spec_hash(wanted) + " " + who;
    }
    return {};
  }));
  report.lines.push_back("rollout " + name.name + " is being rolled back to revision " + number + dry_run_mark(context));
  report.notes.push_back(work::control_of(before).paused
                             ? "The rollout is paused; start it with: fleetadm rollout resume " + name.name + " -n " + name.ns
                             : "Watch it: fleetadm rollout status " + name.name + " -n " + name.ns + " -w");
  return report;
}

template <class Options>
Status validate_revision(const Options& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(check_rollout_name(args));
  if (options.revision < 0) return fail(Category::kUsage, "revisions are numbered from 1");
  return {};
}

}  // namespace

void register_rollout_history(Registry& registry) {
  Command command;
  command.path = "rollout history";
  command.group = "Work";
  command.summary = "List a rollout's revisions: author, time and outcome";
  command.description =
      "The hub keeps the last ten. With --revision, it shows what that revision distributes. Those of an add-on (addon/NAME) name "
      "its default configurations and those of its placements, with the hashes of their contents.";
  command.args = {"NAME", 1, 1, false, Complete::kRollouts, {kAddonPrefix}};
  command.examples = {{"All revisions", "fleetadm rollout history web -n apps"},
                      {"The manifests of revision 2", "fleetadm rollout history web -n apps --revision 2 -o yaml"},
                      {"The configurations of an add-on", "fleetadm rollout history addon/hello"}};
  command.make = invocation<HistoryOptions>(
      [](FlagSet& flags, HistoryOptions& options) {
        flags.integer(&options.revision, "revision", "show this revision's manifests");
      },
      validate_revision<HistoryOptions>, history);
  registry.add(std::move(command));

  command = Command();
  command.path = "rollout undo";
  command.group = "Work";
  command.summary = "Roll back to a previous revision";
  command.description =
      "The previous manifests become the template again and are rolled out with the same strategy: "
      "only clusters that have different manifests are changed, starting with those that failed.\n\n"
      "Of an add-on (addon/NAME), its earlier default configurations and those of its placements are named again. Where one was "
      "edited in place by \"addon config\", its earlier contents are put back, too. If more than 10 clusters would be changed at "
      "once, the command asks first; without a terminal it is refused unless --allow-many is given. --plan shows which clusters "
      "would change, in which order (kind AddonRolloutPlan).";
  command.args = {"NAME", 1, 1, false, Complete::kRollouts, {kAddonPrefix}};
  command.examples = {{"To the previous revision", "fleetadm rollout undo web -n apps"},
                      {"To a specific revision", "fleetadm rollout undo web -n apps --to-revision 2"},
                      {"What undoing an add-on's upgrade would do", "fleetadm rollout undo addon/hello --plan"}};
  command.make = invocation<UndoOptions>(
      [](FlagSet& flags, UndoOptions& options) {
        flags.integer(&options.revision, "to-revision", "the revision to roll back to").default_text = "the previous one";
        bind_addon_guard(flags, options.guard);
      },
      [](const UndoOptions& options, const std::vector<std::string>& args) -> Status {
        FLEETADM_CHECK(validate_addon_guard(options.guard));
        return validate_revision(options, args);
      },
      undo);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
