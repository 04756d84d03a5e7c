// cluster label: sets and removes labels, as kubectl label does, behind the guard.
#include <map>

#include "commands/cluster/cluster.h"
#include "commands/cluster/edit.h"
#include "core/api/kinds.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

struct LabelOptions {
  ClusterSelection selection;
  GuardOptions guard;
  bool overwrite = false;
};

using LabelChanges = std::map<std::string, std::optional<std::string>>;  // no value: removed

Result<LabelChanges> parse_label_changes(const std::vector<std::string>& words) {
  LabelChanges changes;
  for (const std::string& word : words) {
    const std::size_t equal = word.find('=');
    const std::string key = word.substr(0, equal == std::string::npos ? word.size() - 1 : equal);
    if (equal == std::string::npos && !word.ends_with('-'))
      return fail(Category::kUsage, "\"" + word + "\" is not a label", "write KEY=VALUE to set it, or KEY- to remove it");
    if (!qualified_name_problems(key).empty()) return fail(Category::kUsage, "\"" + key + "\" is not a valid label key");
    std::optional<std::string> value;
    if (equal != std::string::npos) value = word.substr(equal + 1);
    if (value && !label_value_problems(*value).empty())
      return fail(Category::kUsage, "\"" + *value + "\" is not a valid label value");
    if (!changes.emplace(key, value).second)
      return fail(Category::kUsage, "label \"" + key + "\" is given twice", "give each label once");
  }
  return changes;
}

Status edit_labels(Json& cluster, const LabelChanges& changes, bool overwrite) {
  for (const auto& [key, value] : changes) {
    const Json& present = object_at(cluster, {"metadata", "labels"});
    const auto found = present.find(key);
    if (!value) {
      if (found != present.end()) erase_at(cluster, {"metadata", "labels", key});
      continue;
    }
    if (found != present.end() && *found != Json(*value) && !overwrite) {
      return fail(Category::kConflict, "label " + key + " already has the value \"" + label_of(cluster, key) + "\"",
                  "to change it, add --overwrite");
    }
    at_or_make(cluster, {"metadata", "labels", key}) = *value;
  }
  return {};
}

/// Arguments are names of clusters up to the first label.
Status split_label_args(const std::vector<std::string>& args, std::vector<std::string>& names, std::vector<std::string>& labels) {
  for (const std::string& arg : args) {
    const bool label = arg.find('=') != std::string::npos || arg.ends_with('-');
    if (!label && !labels.empty())
      return fail(Category::kUsage, "\"" + arg + "\" is not a label", "names of clusters come before the labels");
    (label ? labels : names).push_back(arg);
  }
  if (labels.empty()) return fail(Category::kUsage, "no labels are given", "write KEY=VALUE to set one, or KEY- to remove it");
  return {};
}

Result<Report> run_label(Context& context, const LabelOptions& options, const std::vector<std::string>& args) {
  ClusterSelection selection = options.selection;
  std::vector<std::string> words;
  FLEETADM_CHECK(split_label_args(args, selection.names, words));
  FLEETADM_CHECK(validate_cluster_selection(selection));
  FLEETADM_TRY(const LabelChanges changes, parse_label_changes(words));
  ClusterEdit edit;
  edit.what = "labeling";
  edit.done = "labeled";
  edit.edit = [&](Json& cluster) { return edit_labels(cluster, changes, options.overwrite); };
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
