// cluster drain: moves works away from clusters, and waits until they are gone.
#include <map>
#include <set>

#include "commands/cluster/cluster.h"
#include "commands/cluster/edit.h"
#include "commands/cluster/taints.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/grammar.h"
#include "commands/framework/missing.h"
#include "core/api/kinds.h"
#include "core/work/rules/names.h"
#include "core/work/rules/replica_set_rules.h"

namespace fleetadm::commands {
namespace {

struct DrainOptions {
  ClusterSelection selection;
  GuardOptions guard;
  Duration timeout = kWaitTimeout;
};

/// Works by cluster that the guard has found to go.
using Leaving = std::map<std::string, std::set<std::string>>;

Leaving works_that_leave(const work::Impact& impact) {
  Leaving leaving;
  for (const work::LostWork& one : impact.lost) {
    if (one.effect == work::LostWork::Effect::kRemoved) leaving[one.cluster].insert(one.work);
  }
  return leaving;
}

std::string title_of(const Json& work) {
  std::string set = label_of(work, work::kReplicaSetLabel);  // "namespace.name"
  if (const auto dot = set.find('.'); dot != std::string::npos) set[dot] = '/';
  return set;
}

/// Also of works that are being deleted since an earlier drain.
std::vector<Error> wait_until_drained(Context& context, const kube::Client& hub, const std::vector<std::string>& clusters,
                                      const Leaving& leaving, Duration timeout) {
  Watched watched(hub);
  kube::InformerOptions options;
  options.label_selector = work::kReplicaSetLabel;
  options.project = [](Json& work) { work = Json{{"metadata", std::move(work["metadata"])}}; };
  const std::size_t works = watched.add(api::manifest_works(), std::move(options));
  const Look look = [&](const Objects& now) -> Result<Missing> {
    std::map<std::string, std::set<std::string>> left;
    for (const Json& work : now.objects(works)) {
      const auto known = leaving.find(namespace_of(work));
      const bool leaves = known != leaving.end() && known->second.contains(name_of(work));
      if (leaves || is_deleting(work)) left[namespace_of(work)].insert(title_of(work));
    }
    Missing missing;
    for (const std::string& cluster : clusters) {
      if (const auto at = left.find(cluster); at != left.end())
        missing[cluster] = "still has " + work::some_names(at->second) + ": its agent has not removed the objects yet";
    }
    return missing;
  };
  const std::string who = clusters.size() == 1 ? clusters.front() : std::to_string(clusters.size()) + " clusters";
  return wait_for_missing(context, "Draining " + who, watched, look, timeout);
}

void note_moves(const work::Impact& impact, Report& report) {
  for (const work::SelectionChange& one : impact.placements) {
    const std::vector<std::string> added = one.added();
    const std::vector<std::string> removed = one.removed();
    if (added.empty() && removed.empty()) continue;
    std::string note = "placement " + one.placement.first + "/" + one.placement.second + " leaves " +
                       work::some_names({removed.begin(), removed.end()});
    if (!added.empty()) note += " for " + work::some_names({added.begin(), added.end()});
    report.notes.push_back(std::move(note));
  }
}

Result<Report> run_drain(Context& context, const DrainOptions& options, const std::vector<std::string>& args) {
  ClusterSelection selection = options.selection;
  selection.names = args;
  FLEETADM_CHECK(validate_cluster_selection(selection));
  ClusterEdit edit;
  edit.what = "draining";
  edit.done = "drained";
  edit.edit = [](Json& cluster) -> Status {
    Json kept = Json::array();
    for (const Json& taint : list_at(cluster, {"spec", "taints"})) {
      const bool own = str(taint, {"key"}) == kUnschedulableTaint;
      if (own && str(taint, {"effect"}) == "NoSelect") return {};
      if (!own) kept.push_back(taint);  // that of cordon is replaced
    }
    kept.push_back({{"key", kUnschedulableTaint}, {"effect", "NoSelect"}});
    at_or_make(cluster, {"spec", "taints"}) = std::move(kept);
    return {};
  };
  edit.consequence = [now = context.clock().now()](Json& cluster) { note_taint_times(cluster, now); };
  const std::string what =
      edit.what + (args.empty() ? " clusters"
                                : (args.size() == 1 ? " cluster " : " clusters ") + work::some_names({args.begin(), args.end()}));
  FLEETADM_TRY(const auto hub, context.client());
  auto computed = impact_of_edit(context, selection, edit, true);
  if (!computed && !options.guard.allow) return tl::unexpected(not_computed(computed.error(), options.guard, what));
  const work::Impact impact = computed ? std::move(*computed) : work::Impact();
  std::vector<std::string> notes;
  FLEETADM_TRY(auto plan, guard_impact(context, options.guard, what, impact, notes));
  if (plan) return std::move(*plan);
  GuardOptions allowed;
  allowed.allow = true;
  FLEETADM_TRY(Report report, edit_clusters(context, selection, allowed, edit));
  report.notes.insert(report.notes.begin(), notes.begin(), notes.end());
  note_moves(impact, report);
  if (is_dry(context)) return report;
  const std::vector<std::string> names = edited_names(report);
  if (!computed) report.notes.push_back("which works had to go is unknown: " + computed.error().message);
  tell_late(report, wait_until_drained(context, hub, names, works_that_leave(impact), options.timeout), names.size());
  return report;
}

}  // namespace

void register_cluster_drain(Registry& registry) {
  Command command;
  command.path = "cluster drain";
  command.group = "Clusters";
  command.summary = "Move works away from clusters";
  command.description = std::string("Adds the taint ") + kUnschedulableTaint +
                        ":NoSelect, so that placements that do not tolerate it select other clusters, and waits until the works "
                        "that have to go are gone. Works that were made for the cluster by name stay. \"fleetadm cluster "
                        "uncordon\" ends it.";
  command.description += kGuardText;
  command.args = {"[NAME...]", 0, -1, false, Complete::kClusters};
  command.examples = {{"See what would move, and where to", "fleetadm cluster drain c1 --plan"},
                      {"Drain a cluster in a script", "fleetadm cluster drain c1 --allow-removals --timeout 10m"}};
  command.make = invocation<DrainOptions>(
      [](FlagSet& flags, DrainOptions& options) {
        bind_cluster_selection(flags, options.selection);
        bind_guard(flags, options.guard);
        timeout_flag(flags, &options.timeout, "How long to wait until the works are gone");
      },
      [](const DrainOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_drain);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
