// cluster unlabel: removes labels, behind the guard.
#include "commands/cluster/cluster.h"
#include "commands/cluster/edit.h"
#include "commands/cluster/metadata.h"

namespace fleetadm::commands {
namespace {

struct UnlabelOptions {
  ClusterSelection selection;
  GuardOptions guard;
};

Result<Report> run_unlabel(Context& context, const UnlabelOptions& options, const std::vector<std::string>& args) {
  ClusterSelection selection = options.selection;
  std::vector<std::string> keys = take_cluster_names(selection, args);
  FLEETADM_CHECK(validate_cluster_selection(selection));
  if (keys.empty()) return fail(Category::kUsage, "no labels are given", "write the keys of the labels to remove");
  for (std::string& key : keys) {
    if (!key.ends_with('-')) key += '-';
  }
  FLEETADM_TRY(const auto changes, parse_metadata_changes(MetadataKind::kLabel, keys));
  ClusterEdit edit;
  edit.what = "removing labels from";
  edit.done = "unlabeled";
  edit.edit = [&](Json& cluster) { return edit_metadata(MetadataKind::kLabel, cluster, changes, false); };
  return edit_clusters(context, selection, options.guard, edit);
}

}  // namespace

void register_cluster_unlabel(Registry& registry) {
  Command command;
  command.path = "cluster unlabel";
  command.group = "Clusters";
  command.summary = "Remove labels of clusters";
  command.description = "The same as \"fleetadm cluster label\" with KEY-. A label that is not there is no error.";
  command.description += kGuardText;
  command.args = {"[NAME[,NAME...]] KEY...", 1, -1, false, Complete::kClusters};
  command.examples = {{"Remove two labels of one cluster", "fleetadm cluster unlabel c1 env tier"},
                      {"Remove a label of all clusters", "fleetadm cluster unlabel --all canary"}};
  command.make = invocation<UnlabelOptions>(
      [](FlagSet& flags, UnlabelOptions& options) {
        bind_cluster_selection(flags, options.selection);
        bind_guard(flags, options.guard);
      },
      [](const UnlabelOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_unlabel);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
