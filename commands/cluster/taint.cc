// cluster taint: adds and removes taints, as kubectl taint does for nodes, behind the guard.
#include <algorithm>

#include "commands/cluster/cluster.h"
#include "commands/cluster/edit.h"
#include "commands/cluster/taints.h"

namespace fleetadm::commands {
namespace {

struct TaintOptions {
  ClusterSelection selection;
  GuardOptions guard;
  bool overwrite = false;
};

/// Arguments are names of clusters up to the first taint.
Status split_taint_args(const std::vector<std::string>& args, std::vector<std::string>& names, std::vector<TaintChange>& taints) {
  for (const std::string& arg : args) {
    const bool taint = arg.find_first_of("=:") != std::string::npos || arg.ends_with('-');
    if (!taint && taints.empty()) {
      names.push_back(arg);
      continue;
    }
    if (!taint) return fail(Category::kUsage, "\"" + arg + "\" is not a taint", "names of clusters come before the taints");
    FLEETADM_TRY(TaintChange change, parse_taint(arg));
    const bool twice = std::any_of(taints.begin(), taints.end(), [&](const TaintChange& one) {
      return one.key == change.key && (one.effect == change.effect || one.effect.empty() || change.effect.empty());
    });
    if (twice) return fail(Category::kUsage, "taint \"" + change.key + "\" is given twice", "give each taint once");
    taints.push_back(std::move(change));
  }
  if (taints.empty()) return fail(Category::kUsage, "no taints are given", kTaintForm);
  return {};
}

Result<Report> run_taint(Context& context, const TaintOptions& options, const std::vector<std::string>& args) {
  ClusterSelection selection = options.selection;
  std::vector<TaintChange> taints;
  FLEETADM_CHECK(split_taint_args(args, selection.names, taints));
  FLEETADM_CHECK(validate_cluster_selection(selection));
  ClusterEdit edit;
  edit.what = "tainting";
  edit.done = "tainted";
  if (std::all_of(taints.begin(), taints.end(), [](const TaintChange& one) { return one.remove; })) {
    edit.what = "removing taints from";
    edit.done = "untainted";
  }
  edit.edit = [&](Json& cluster) { return edit_taints(cluster, taints, options.overwrite); };
  edit.consequence = [now = context.clock().now()](Json& cluster) { note_taint_times(cluster, now); };
  return edit_clusters(context, selection, options.guard, edit);
}

}  // namespace

void register_cluster_taint(Registry& registry) {
  Command command;
  command.path = "cluster taint";
  command.group = "Clusters";
  command.summary = "Add or remove taints of clusters";
  command.description =
      "KEY[=VALUE]:EFFECT adds a taint, KEY:EFFECT- removes it, KEY- removes it with every effect. "
      "NoSelect makes placements drop the cluster unless they tolerate the taint; NoSelectIfNew only "
      "prevents them from selecting it; PreferNoSelect makes it the last choice.";
  command.description += kGuardText;
  command.args = {"[NAME...] KEY[=VALUE]:EFFECT|KEY[:EFFECT]-...", 1, -1, false, Complete::kClusters};
  command.examples = {{"Drain a cluster for maintenance", "fleetadm cluster taint c1 maintenance:NoSelect"},
                      {"See which works would be lost", "fleetadm cluster taint c1 maintenance:NoSelect --plan"},
                      {"Take it back", "fleetadm cluster taint c1 maintenance:NoSelect-"}};
  command.make = invocation<TaintOptions>(
      [](FlagSet& flags, TaintOptions& options) {
        bind_cluster_selection(flags, options.selection);
        flags.boolean(&options.overwrite, "overwrite", "Change taints that have another value");
        bind_guard(flags, options.guard);
      },
      [](const TaintOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_taint);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
