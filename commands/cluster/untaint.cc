// cluster untaint: removes taints, behind the guard.
#include "commands/cluster/cluster.h"
#include "commands/cluster/edit.h"
#include "commands/cluster/taints.h"

namespace fleetadm::commands {
namespace {

struct UntaintOptions {
  ClusterSelection selection;
  GuardOptions guard;
};

Result<Report> run_untaint(Context& context, const UntaintOptions& options, const std::vector<std::string>& args) {
  ClusterSelection selection = options.selection;
  const std::vector<std::string> words = take_cluster_names(selection, args);
  FLEETADM_CHECK(validate_cluster_selection(selection));
  if (words.empty()) return fail(Category::kUsage, "no taints are given", "write KEY[:EFFECT] of the taints to remove");
  std::vector<TaintChange> changes;
  for (const std::string& word : words) {
    FLEETADM_TRY(changes.emplace_back(), parse_taint(word.ends_with('-') ? word : word + "-"));
  }
  ClusterEdit edit;
  edit.what = "removing taints from";
  edit.done = "untainted";
  edit.edit = [&](Json& cluster) { return edit_taints(cluster, changes, false); };
  return edit_clusters(context, selection, options.guard, edit);
}

}  // namespace

void register_cluster_untaint(Registry& registry) {
  Command command;
  command.path = "cluster untaint";
  command.group = "Clusters";
  command.summary = "Remove taints of clusters";
  command.description =
      "The same as \"fleetadm cluster taint\" with KEY- or KEY:EFFECT-. Without an effect, the taint is removed with every effect. "
      "A taint that is not there is no error.";
  command.description += kGuardText;
  command.args = {"[NAME[,NAME...]] KEY[:EFFECT]...", 1, -1, false, Complete::kClusters};
  command.examples = {{"Remove a taint", "fleetadm cluster untaint c1 maintenance"},
                      {"Remove it with one effect from all clusters", "fleetadm cluster untaint --all maintenance:NoSelect"}};
  command.make = invocation<UntaintOptions>(
      [](FlagSet& flags, UntaintOptions& options) {
        bind_cluster_selection(flags, options.selection);
        bind_guard(flags, options.guard);
      },
      [](const UntaintOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_untaint);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
