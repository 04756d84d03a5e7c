// clusterset create: an exclusive set (clusters belong by label), or one by a label selector.
#include "commands/clusterset/clusterset.h"
#include "commands/framework/selectors.h"
#include "commands/framework/write_report.h"
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
    return fail(Category::kConflict, "cluster set \"" + name + "\" already exists with a different selector",
                "show it with: fleetadm clusterset get " + name + " -o yaml");
  }
  FLEETADM_TRY(Json written, hub.create(api::managed_cluster_sets(), "", wanted));
  FLEETADM_TRY(Json stored, read_back(context, hub, api::managed_cluster_sets(), "", name, wanted, std::move(written)));
  Report report = written_report(context, api::managed_cluster_sets(), std::move(stored), "created");
  if (options.selector.empty() && !options.everything)
    report.notes.push_back("Add clusters with: fleetadm clusterset set " + name + " --clusters NAME");
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
      "Without a selector the set is exclusive: a cluster can belong to at most one exclusive set; "
      "membership is a label, see \"fleetadm clusterset set\". With --selector, the set contains all "
      "clusters that match, and may overlap with others.";
  command.args = {"NAME", 1, 1, false, Complete::kNone};
  command.examples = {{"An exclusive set", "fleetadm clusterset create prod"},
                      {"All clusters in a region", "fleetadm clusterset create eu --selector region=eu"}};
  command.make = invocation<CreateOptions>(
      [](FlagSet& flags, CreateOptions& options) {
        flags.text(&options.selector, "selector", "Label selector for the clusters in the set", 'l').value_name = "SELECTOR";
        flags.boolean(&options.everything, "all", "Include every cluster");
      },
      [](const CreateOptions& options, const std::vector<std::string>& args) -> Status {
        if (options.everything && !options.selector.empty())
          return fail(Category::kUsage, "--all cannot be combined with --selector");
        if (args.front().size() > 63)
          return fail(Category::kUsage, "a cluster set's name is limited to 63 characters, because it becomes a label");
        return check_name("cluster set", args.front());
      },
      run_create);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
