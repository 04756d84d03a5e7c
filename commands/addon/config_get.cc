// addon config get: what an add-on's agents are configured with, and where that is said.
#include "commands/addon/addon.h"
#include "commands/addon/config_levels.h"
#include "commands/addon/config_values.h"
#include "commands/framework/listing.h"
#include "commands/framework/write_report.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

void tell_level(const addon::AddonRolloutObjects& read, const ConfigLevel& level, const std::optional<addon::ConfigKey>& key,
                Report& report) {
  Json item{{"level", !level.cluster.empty() ? "cluster" : level.placement.empty() ? "default" : "placement"}};
  if (!level.cluster.empty()) item["cluster"] = level.cluster;
  if (!level.placement.empty()) item["placement"] = level.placement;
  const std::string object = key ? key->ns + "/" + key->name : "<none>";
  const addon::ObjectPtr found = key ? read.objects.get(key->type, key->ns, key->name) : nullptr;
  if (key) item["config"] = {{"namespace", key->ns}, {"name", key->name}, {"exists", found != nullptr}};
  if (found) item["spec"] = object_at(*found, {"spec"});
  const auto values = found ? told_config(object_at(*found, {"spec"})) : std::vector<std::pair<std::string, std::string>>();
  for (const auto& [field, value] : values) report.table->rows.push_back({level.text(), object, field, value});
  if (values.empty()) {
    const bool missing = key && !found && read.readable.contains(key->type);
    report.table->rows.push_back({level.text(), object, "<none>", missing ? "the object does not exist" : "<none>"});
  }
  report.data["items"].push_back(std::move(item));
}

Result<Report> run_config_get(Context& context, const LevelOptions& options, const std::vector<std::string>& args) {
  const std::string& name = args.front();
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const addon::AddonRolloutObjects read, addon_objects(hub, name));
  Report report;
  report.table = Table{{{"LEVEL"}, {"CONFIG"}, {"FIELD"}, {"VALUE"}}, {}, ""};
  report.data = {{"kind", "AddonConfig"}, {"name", name}, {"items", Json::array()}};
  report.names.push_back(full_name(api::cluster_management_addons(), name));
  if (!options.placement.empty() || !options.clusters.empty()) {
    FLEETADM_TRY(const auto levels, config_levels(context, read, name, options));
    for (const ConfigLevel& level : levels) tell_level(read, level, effective_config(read, name, level), report);
    return report;
  }
  tell_level(read, {}, own_config(read, name, {}), report);
  for (const Json& one : list_at(*read.declaration(name), {"spec", "installStrategy", "placements"})) {
    const ConfigLevel level{str(one, {"namespace"}) + "/" + str(one, {"name"}), {}};
    if (const auto own = own_config(read, name, level)) tell_level(read, level, own, report);
  }
  for (const addon::ObjectPtr& one : read.objects.addons_named(name)) {
    const ConfigLevel level{{}, namespace_of(*one)};
    if (const auto own = own_config(read, name, level)) tell_level(read, level, own, report);
  }
  return report;
}

}  // namespace

void register_addon_config_get(Registry& registry) {
  Command command;
  command.path = "addon config get";
  command.group = "Add-ons";
  command.summary = "Show what an add-on's agents are configured with";
  command.description =
      "Shows the AddOnDeploymentConfigs that the add-on names by default, for its placements and for single clusters. With "
      "--placement or --clusters, the one that takes effect there.";
  command.args = {"NAME", 1, 1, false, Complete::kAddons};
  command.examples = {{"Wherever it is configured", "fleetadm addon config get hello"},
                      {"What takes effect on a cluster", "fleetadm addon config get hello --clusters c1 -o json"}};
  command.make = invocation<LevelOptions>(
      bind_config_level,
      [](const LevelOptions& options, const std::vector<std::string>& args) -> Status {
        FLEETADM_CHECK(check_name("add-on name", args.front()));
        return validate_config_level(options);
      },
      run_config_get);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
