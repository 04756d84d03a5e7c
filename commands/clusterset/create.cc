// clusterset create: an exclusive set (clusters belong by label), or one by a label selector.
#include "commands/clusterset/clusterset.h"
#include "commands/placement/spec.h"
#include "commands/placement/written.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

struct CreateOptions {
  std::string selector;
  bool everything = false;
};

Result<Json> wanted_set(const CreateOptions& options, const std::string& name) {
  Json selector{{"selectorType", "ExclusiveClusterSetLabel"}};
  if (options.everything) selector = {{"selectorType", "LabelSelector"}, {"labelSelector", Json::object()}};
  if (!options.selector.empty()) {
    FLEETADM_TRY(Json labels, parse_selector(options.selector));
    selector = {{"selectorType", "LabelSelector"}, {"labelSelector", std::move(labels)}};
  }
  return Json{{"apiVersion", api::managed_cluster_sets().api_version()},
              {"kind", api::managed_cluster_sets().kind},
              {"metadata", {{"name", name}}},
              {"spec", {{"clusterSelector", std::move(selector)}}}};
}

Result<Report> run_create(Context& context, const CreateOptions& options, const std::vector<std::string>& args) {
  const std::string& name = args.front();
  FLEETADM_TRY(const Json wanted, wanted_set(options, name));
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_TRY(const auto existing, on_hub(hub.find(api::managed_cluster_sets(), "", name)));
  if (existing) {
    const Json& stored = object_at(*existing, {"spec", "clusterSelector"});
    if (stored == object_at(wanted, {"spec", "clusterSelector"}))
      return written_report(context, api::managed_cluster_sets(), *existing, "unchanged");
    return fail(Category::kConflict, "cluster set \"" + name + "\" already exists with another selector",
                "look at it with: fleetadm clusterset get " + name + " -o yaml");
  }
  FLEETADM_TRY(Json written, hub.create(api::managed_cluster_sets(), "", wanted));
  FLEETADM_TRY(Json stored, read_back(context, hub, api::managed_cluster_sets(), "", name, wanted, std::move(written)));
  Report report = written_report(context, api::managed_cluster_sets(), std::move(stored), "created");
  if (options.selector.empty() && !options.everything)
    report.notes.push_back("put clusters into it with: fleetadm clusterset set " + name + " --clusters NAME");
  return report;
}

}  // namespace

void register_clusterset_create(Registry& registry) {
  Command command;
  command.path = "clusterset create";
  command.group = "Clusters";
  command.aliases = {"create clusterset"};
  command.summary = "Create a cluster set";
  command.description =
      "Without a selector the set is exclusive: a cluster is in at most one such set, by its label, see \"fleetadm clusterset "
      "set\". "
      "With --selector the set holds whichever clusters have the labels, and may overlap with others.";
  command.args = {"NAME", 1, 1, false, Complete::kNone};
  command.examples = {{"A set to put clusters into", "fleetadm clusterset create prod"},
                      {"All clusters of a region", "fleetadm clusterset create eu --selector region=eu"}};
  command.make = invocation<CreateOptions>(
      [](FlagSet& flags, CreateOptions& options) {
        flags.text(&options.selector, "selector", "Labels of the clusters that belong", 'l').value_name = "SELECTOR";
        flags.boolean(&options.everything, "all", "Every cluster belongs");
      },
      [](const CreateOptions& options, const std::vector<std::string>& args) -> Status {
        if (options.everything && !options.selector.empty())
          return fail(Category::kUsage, "--all and --selector exclude each other");
        if (args.front().size() > 63)
          return fail(Category::kUsage, "a cluster set's name has at most 63 characters: it becomes a label");
        return check_name("cluster set", args.front());
      },
      run_create);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
