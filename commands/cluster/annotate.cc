// cluster annotate: sets and removes annotations, as kubectl annotate does.
#include "commands/cluster/cluster.h"
#include "commands/cluster/edit.h"
#include "commands/cluster/metadata.h"

namespace fleetadm::commands {
namespace {

struct AnnotateOptions {
  ClusterSelection selection;
  bool overwrite = false;
};

Result<Report> run_annotate(Context& context, const AnnotateOptions& options, const std::vector<std::string>& args) {
  ClusterSelection selection = options.selection;
  std::vector<std::string> words;
  FLEETADM_CHECK(split_metadata_args(MetadataKind::kAnnotation, args, selection.names, words));
  FLEETADM_CHECK(validate_cluster_selection(selection));
  FLEETADM_TRY(const auto changes, parse_metadata_changes(MetadataKind::kAnnotation, words));
  ClusterEdit edit;
  edit.what = "annotating";
  edit.done = "annotated";
  edit.edit = [&](Json& cluster) { return edit_metadata(MetadataKind::kAnnotation, cluster, changes, options.overwrite); };
  GuardOptions nothing_moves;
  nothing_moves.allow = true;
  return edit_clusters(context, selection, nothing_moves, edit);
}

}  // namespace

void register_cluster_annotate(Registry& registry) {
  Command command;
  command.path = "cluster annotate";
  command.group = "Clusters";
  command.summary = "Set or remove annotations of clusters";
  command.description =
      "KEY=VALUE sets an annotation, KEY- removes it. An annotation that has a different value is changed only with --overwrite. "
      "Placements do not look at annotations.";
  command.args = {"[NAME...] KEY=VALUE|KEY-...", 1, -1, false, Complete::kClusters};
  command.examples = {{"Note who is responsible", "fleetadm cluster annotate c1 c2 example.com/owner='Team Blue'"},
                      {"Remove the note", "fleetadm cluster annotate c1 example.com/owner-"}};
  command.make = invocation<AnnotateOptions>(
      [](FlagSet& flags, AnnotateOptions& options) {
        bind_cluster_selection(flags, options.selection);
        flags.boolean(&options.overwrite, "overwrite", "Change annotations that have another value");
      },
      [](const AnnotateOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_annotate);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
