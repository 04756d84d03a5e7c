// work status: where a work stands on each cluster, manifest by manifest, what is in the way and since when.
#include <algorithm>
#include <set>
#include <utility>

#include "commands/framework/listing.h"
#include "commands/framework/write_report.h"
#include "commands/work/selection.h"
#include "commands/work/tree.h"
#include "commands/work/work.h"
#include "core/api/kinds.h"
#include "core/work/rules/progress.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {
namespace {

struct StatusOptions {
  std::vector<std::string> clusters;
  std::string placement;
  bool manifests = false;
  bool watch = false;
};

/// Everything that the rows are made of.
struct View {
  WorkSelection selection;
  std::map<std::string, Json> clusters;
  std::vector<std::string> only;  // --cluster

  bool covers(const std::string& cluster) const {
    return only.empty() || std::find(only.begin(), only.end(), cluster) != only.end();
  }
};

work::WorkProgress judged(const View& view, const Json& work) {
  work::WorkProgress progress = work::progress_of(work);
  if (const auto cluster = view.clusters.find(progress.cluster); cluster != view.clusters.end()) {
    if (std::optional<work::Blocking> why = work::unreachable(cluster->second)) mark_unreachable(progress, std::move(*why));
  }
  return progress;
}

/// The works as they are, and the clusters that are still to get one.
std::vector<work::WorkProgress> all_progress(const View& view, const std::vector<Json>& works) {
  std::vector<work::WorkProgress> all;
  std::set<std::string> have;
  for (const Json& work : works) {
    all.push_back(judged(view, work));
    have.insert(namespace_of(work));
  }
  const bool set = !view.selection.sets.empty();
  for (const std::string& cluster : set ? view.selection.wanted : view.only) {
    if (have.contains(cluster) || !view.covers(cluster)) continue;
    const std::string why = set ? "the hub has not created its work yet" : "this cluster has no such work";
    all.push_back(work::missing_work(cluster, view.selection.name, why, std::nullopt));
  }
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return std::tie(a.cluster, a.name) < std::tie(b.cluster, b.name); });
  return all;
}

std::string age_of(const std::optional<Instant>& since, Instant now) { return since ? format_age(*since, now) : "<unknown>"; }

std::string text_of(const work::Blocking& blocking) {
  std::string text = blocking.condition;
  if (!blocking.status.empty()) text += "=" + blocking.status;
  if (!blocking.reason.empty()) text += (text.empty() ? "" : " ") + blocking.reason;
  return text + (blocking.message.empty() ? "" : ": " + blocking.message);
}

void add_rows(const work::WorkProgress& one, bool every_manifest, Instant now, Table& table) {
  const auto count = std::to_string(one.manifests.size());
  const bool old_news = one.state == work::kStateUnreachable || one.state == work::kStateDeleting;
  std::size_t shown = 0;
  if (every_manifest || !old_news) {
    for (const work::ManifestProgress& manifest : one.manifests) {
      if (!every_manifest && !manifest.blocking) continue;
      ++shown;
      table.rows.push_back({one.cluster, one.name, manifest.describe(), manifest.state, manifest.ready,
                            age_of(manifest.since, now), manifest.blocking ? text_of(*manifest.blocking) : ""});
    }
  }
  // The work's own row, where no manifest's tells more.
  if (shown > 0 && !old_news) return;
  const std::string all = "(all " + count + ")";
  table.rows.push_back({one.cluster, one.name, one.manifests.empty() ? "<none>" : all, one.state, one.ready,
                        age_of(one.since, now), one.blocking ? text_of(*one.blocking) : ""});
}

Report report_of(const std::vector<work::WorkProgress>& all, const StatusOptions& options, const GlobalOptions& global,
                 Instant now) {
  Report report;
  report.table.emplace();
  report.table->columns = {{"CLUSTER"}, {"WORK"}, {"MANIFEST"}, {"STATE"}, {"READY"}, {"FOR"}, {"BLOCKED BY"}};
  Json items = Json::array();
  std::map<std::string, std::int64_t> counts;
  for (const work::WorkProgress& one : all) {
    add_rows(one, options.manifests || global.output == "wide", now, *report.table);
    items.push_back(work::to_json(one));
    report.names.push_back(full_name(api::manifest_works(), one.name));
    for (std::vector<std::string>& path : work_branches(one)) report.branches.push_back(std::move(path));
    ++counts[one.state];
  }
  report.data = {{"kind", "WorkStatus"}, {"counts", counts}, {"works", std::move(items)}};
  return report;
}

bool all_done(const std::map<std::pair<std::string, std::string>, work::WorkProgress>& known) {
  return !known.empty() && std::all_of(known.begin(), known.end(), [](const auto& entry) { return entry.second.done(); });
}

/// Prints what is, then each change, until nothing is blocked.
Result<Report> watched(Context& context, const kube::Client& hub, const View& view, const StatusOptions& options,
                       const std::vector<work::WorkProgress>& first) {
  std::map<std::pair<std::string, std::string>, work::WorkProgress> known;
  for (const work::WorkProgress& one : first) known[{one.cluster, one.name}] = one;
  const auto emit = [&](const std::vector<work::WorkProgress>& these, Report::Event event) {
    Report report = report_of(these, options, context.global(), context.clock().now());
    report.event = event;
    context.emit(report);
  };
  emit(first, Report::Event::kAdded);
  Report done;
  if (all_done(known)) return done;
  const Status watched_to = kube::watch_collection(
      hub, api::manifest_works(), {}, view.selection.which,
      [&](kube::EventType type, const Json& work) {
        const std::string cluster = namespace_of(work);
        if (!view.covers(cluster)) return true;
        const auto key = std::pair(cluster, name_of(work));
        std::erase_if(known, [&](const auto& entry) {
          return entry.first.first == cluster && entry.second.state == work::kStateMissing && entry.first != key;
        });
        work::WorkProgress now = judged(view, work);
        auto event = known.contains(key) ? Report::Event::kModified : Report::Event::kAdded;
        if (type == kube::EventType::kDeleted) {
          known.erase(key);
          event = Report::Event::kDeleted;
          now.state = "Deleted";
          now.blocking.reset();
          now.since.reset();
        } else {
          const auto before = known.find(key);
          const bool same = before != known.end() && work::to_json(before->second) == work::to_json(now);
          if (before == known.end()) {
            known.emplace(key, now);
          } else {
            before->second = now;
          }
          if (same) return !all_done(known);
        }
        emit({now}, event);
        return !known.empty() && !all_done(known);
      },
      context.stop());
  // An interrupt is how a watch may end: no error is said, only the exit code tells.
  if (!watched_to && !context.stop().stop_requested()) return tl::unexpected(watched_to.error());
  if (context.stop().stop_requested()) done.exit_code = 2;
  return done;
}

Result<Report> run_status(Context& context, const StatusOptions& options, const std::vector<std::string>& args) {
  if (options.watch && context.global().output == "tree")
    return fail(Category::kUsage, "--watch cannot be combined with -o tree");
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const std::string ns, context.ns());
  std::optional<PlacementRef> placement;
  if (!options.placement.empty()) {
    FLEETADM_TRY(placement, placement_ref(context, options.placement));
  }
  View view;
  view.only = options.clusters;
  FLEETADM_TRY(view.selection, select_works(hub, args.front(), ns, placement));
  FLEETADM_TRY(const std::vector<Json> works, list_works(hub, view.selection, options.clusters));
  if (works.empty() && view.selection.sets.empty()) {
    return fail(no_such_work(hub, args.front(), options.clusters));
  }
  std::vector<std::string> notes;
  view.clusters = clusters_by_name(hub, notes);
  const std::vector<work::WorkProgress> all = all_progress(view, works);
  if (options.watch) return watched(context, hub, view, options, all);
  Report report = report_of(all, options, context.global(), context.clock().now());
  report.table->empty_text = "The placement has not selected any clusters.";
  report.notes = std::move(notes);
  return report;
}

}  // namespace

void register_work_status(Registry& registry) {
  Command command;
  command.path = "work status";
  command.group = "Work";
  command.summary = "Show a work's status on each cluster, what blocks it, and for how long";
  command.description =
      "NAME is a work's name, or the name of the ManifestWorkReplicaSet that created it for a placement "
      "(in namespace -n). Prints one row for each manifest that is not healthy, with the condition that "
      "reports it and for how long; a cluster on which everything is healthy has one row. "
      "With -w, changes are printed as they happen until nothing is blocked.";
  command.args = {"NAME", 1, 1, false, Complete::kWorks};
  command.examples = {{"Show what blocks a work", "fleetadm work status web -n apps"},
                      {"Every manifest on one cluster", "fleetadm work status web --cluster c1 --manifests"},
                      {"All manifests as a tree", "fleetadm work status web -n apps -o tree"},
                      {"Watch until nothing is blocked", "fleetadm work status web --placement apps/eu -w"}};
  command.tree = true;
  command.make = invocation<StatusOptions>(
      [](FlagSet& flags, StatusOptions& options) {
        only_clusters_flag(flags, options.clusters);
        placement_flag(flags, &options.placement, "the work that was created for this placement");
        flags.boolean(&options.manifests, "manifests", "show every manifest, including healthy ones (as -o wide does)");
        flags.boolean(&options.watch, "watch", "print changes as they happen, until nothing is blocked", 'w');
      },
      [](const StatusOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_status);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
