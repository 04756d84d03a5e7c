// cluster label: sets and removes labels, as kubectl label does, behind the guard.
#include "commands/cluster/cluster.h"
#include "commands/cluster/edit.h"
#include "commands/cluster/metadata.h"

namespace fleetadm::commands {
namespace {

struct LabelOptions {
  ClusterSelection selection;
  GuardOptions guard;
  bool overwrite = false;
};

Result<Report> run_label(Context& context, const LabelOptions& options, const std::vector<std::string>& args) {
  ClusterSelection selection = options.selection;
  std::vector<std::string> words;
  FLEETADM_CHECK(split_metadata_args(MetadataKind::kLabel, args, selection.names, words));
  FLEETADM_CHECK(validate_cluster_selection(selection));
  FLEETADM_TRY(const auto changes, parse_metadata_changes(MetadataKind::kLabel, words));
  ClusterEdit edit;
  edit.what = "labeling";
  edit.done = "labeled";
  edit.edit = [&](Json& cluster) { return edit_metadata(MetadataKind::kLabel, cluster, changes, options.overwrite); };
  return edit_clusters(context, selection, options.guard, edit);
}

}  // namespace

void register_cluster_label(Registry& registry) {
  Command command;
  command.path = "cluster label";
  command.group = "Clusters";
  command.summary = "Set or remove labels of clusters";
  command.description =
      "KEY=VALUE sets a label, KEY- removes it. A label that has a different value is changed only with "
      "--overwrite. Labels decide which cluster sets and placements select a cluster.";
  command.description += kGuardText;
  command.args = {"[NAME...] KEY=VALUE|KEY-...", 1, -1, false, Complete::kClusters};
  command.examples = {{"Label two clusters", "fleetadm cluster label c1 c2 env=prod region=eu"},
                      {"Change one label and remove another", "fleetadm cluster label c1 env=dev tier- --overwrite"},
                      {"See which works would be lost", "fleetadm cluster label -l env=prod env=dev --overwrite --plan"}};
  command.make = invocation<LabelOptions>(
      [](FlagSet& flags, LabelOptions& options) {
        bind_cluster_selection(flags, options.selection);
        flags.boolean(&options.overwrite, "overwrite", "Change labels that have another value");
        bind_guard(flags, options.guard);
      },
      [](const LabelOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_label);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
