// get addons: a row for each add-on of each cluster.
#include "commands/addon/addon.h"
#include "commands/framework/grammar.h"
#include "commands/framework/listing.h"
#include "commands/framework/named.h"
#include "commands/framework/write_report.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

struct GetAddonsOptions {
  std::vector<std::string> clusters;
  std::string selector;
  bool all = false;  // they are, unless a cluster's namespace is named
  bool watch = false;
  bool watch_only = false;
};

/// Of the conditions in the order of an add-on's life, the message of the first that is not as it should be.
std::string trouble_of(const Json& addon) {
  for (const char* type : {"Configured", "RegistrationApplied", "ManifestApplied", "HostingManifestApplied", "Available"}) {
    const Json* condition = condition_of(addon, type);
    if (condition != nullptr && str(*condition, {"status"}) != "True") return str(*condition, {"message"});
  }
  const Json* progressing = condition_of(addon, "Progressing");
  return progressing != nullptr && str(*progressing, {"reason"}) != "Completed" ? str(*progressing, {"message"}) : std::string();
}

ListView addon_view() {
  ListView view;
  view.resource = api::managed_cluster_addons();
  view.nothing = "No add-ons found.";
  view.columns = {{"CLUSTER"},          {"NAME"},           {"AVAILABLE"},    {"PROGRESSING"}, {"NAMESPACE"}, {"AGE"},
                  {"CONFIGURED", true}, {"DEGRADED", true}, {"MESSAGE", true}};
  view.row = [](const Json& addon, Instant now) -> std::vector<std::string> {
    return {namespace_of(addon),
            name_of(addon),
            condition_cell(addon, "Available"),
            condition_cell(addon, "Progressing"),
            or_none(str(addon, {"status", "namespace"})),
            age_cell(addon, now),
            condition_cell(addon, "Configured"),
            condition_cell(addon, "Degraded"),
            trouble_of(addon)};
  };
  return view;
}

Result<Report> run_get_addons(Context& context, const GetAddonsOptions& options, const std::vector<std::string>& names) {
  ListRequest request{names, options.selector, options.clusters, options.watch, options.watch_only};
  request.called = [](const Json& addon, const std::string& name) { return name_of(addon) == name; };
  if (!options.clusters.empty()) request.nothing_in = cluster_exists;
  // A cluster's add-ons are in the namespace of its name.
  if (const std::string& ns = context.global().config.ns; !options.all && options.clusters.empty() && !ns.empty())
    request.namespaces = {ns};
  return list_objects(context, addon_view(), request);
}

}  // namespace

void register_addon_get(Registry& registry) {
  Command command;
  command.path = "get addons";
  command.group = "Add-ons";
  command.summary = "Get add-ons and whether their agents are available";
  command.description =
      "A row for each cluster that has the add-on. -o wide adds whether it is configured and degraded, and the reason for anything "
      "that is not healthy.";
  command.args = {"[NAME...]", 0, -1};
  command.args.complete = Complete::kAddons;
  command.aliases = {"addon get", "addon list", "get addon", "get managedclusteraddons"};
  command.examples = {{"All add-ons of one cluster", "fleetadm get addons --clusters c1"},
                      {"With the reason for what is not healthy", "fleetadm get addons -o wide"}};
  command.make = invocation<GetAddonsOptions>(
      [](FlagSet& flags, GetAddonsOptions& options) {
        list_flags(flags, options.selector, options.watch, options.watch_only);
        clusters_flag(flags, &options.clusters, "only add-ons of these clusters");
        all_namespaces_flag(flags, &options.all, "add-ons of all clusters (the default without -n)").aliases = {"all-clusters"};
      },
      [](const GetAddonsOptions& options, const std::vector<std::string>&) -> Status {
        for (const std::string& cluster : options.clusters) FLEETADM_CHECK(check_name("cluster", cluster));
        return {};
      },
      run_get_addons);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
