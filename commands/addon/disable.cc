// addon disable: add-ons are taken from clusters.
#include <set>

#include "commands/addon/addon.h"
#include "commands/addon/install_strategy.h"
#include "commands/addon/targets.h"
#include "commands/framework/addon_change.h"
#include "commands/framework/guard.h"
#include "commands/framework/write_report.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

struct DisableOptions {
  AddonTargets targets;
  GuardOptions guard;
};

/// The add-ons that are there, and what their clusters lose.
struct Removal {
  std::vector<Json> addons;
  work::Impact impact;
};

Result<Removal> removal_of(const kube::Client& hub, const std::vector<std::string>& names,
                           const std::vector<std::string>& clusters) {
  Removal removal;
  FLEETADM_CHECK(hub.list_each(api::managed_clusters(), "", {}, [&](const Json&) -> Status {
    ++removal.impact.clusters;
    return {};
  }));
  for (const std::string& cluster : clusters) {
    for (const std::string& name : names) {
      FLEETADM_TRY(auto addon, on_hub(hub.find(api::managed_cluster_addons(), cluster, name)));
      if (!addon || is_deleting(*addon)) continue;
      removal.impact.lost.push_back({work::LostWork::Effect::kRemoved, cluster, "add-on " + name, ""});
      removal.addons.push_back(std::move(*addon));
    }
  }
  return removal;
}

std::string title_of(const std::vector<std::string>& names) {
  return std::string("disabling add-on") + (names.size() == 1 ? " " : "s ") +
         work::some_names(std::set<std::string>(names.begin(), names.end()));
}

Result<Report> disable_on_clusters(Context& context, const kube::Client& hub, const DisableOptions& options,
                                   const std::vector<std::string>& names) {
  FLEETADM_TRY(const ClusterTargets targets, cluster_targets(hub, options.targets.where));
  FLEETADM_TRY(const Removal removal, removal_of(hub, names, targets.clusters));
  Report report;
  report.failures = targets.missing;
  FLEETADM_TRY(auto plan, guard_impact(context, options.guard, title_of(names), removal.impact, report.notes));
  if (plan) return std::move(*plan);
  Json deleted = Json::array();
  for (const Json& addon : removal.addons) {
    kube::DeleteOptions how;
    how.uid = uid_of(addon);
    const auto gone = hub.remove(api::managed_cluster_addons(), namespace_of(addon), name_of(addon), how);
    if (!gone && gone.error().category != Category::kNotFound) {
      report.failures.push_back(gone.error().with_cluster(namespace_of(addon)));
      continue;
    }
    report.lines.push_back(
        told(context, api::managed_cluster_addons(), name_of(addon), "disabled on cluster " + namespace_of(addon)));
    report.names.push_back(full_name(api::managed_cluster_addons(), name_of(addon)));
    deleted.push_back({{"namespace", namespace_of(addon)}, {"name", name_of(addon)}});
  }
  if (removal.addons.empty() && report.failures.empty())
    report.lines.emplace_back("Nothing to disable: the add-on is on none of these clusters.");
  if (deleted.empty() && report.failures.size() == 1) return tl::unexpected(report.failures.front());
  report.data = Json{{"kind", "DeleteReport"}, {"addons", std::move(deleted)}};
  return report;
}

Result<Report> disable_by_placement(Context& context, const kube::Client& hub, const DisableOptions& options,
                                    const std::vector<std::string>& names) {
  FLEETADM_TRY(const PlacementRef placement, placement_ref(context, options.targets.where.placement));
  work::Impact impact;
  for (const std::string& name : names) {
    FLEETADM_TRY(const Json before, declaration_of(hub, name));
    Json after = before;
    if (!remove_placement(after, placement)) continue;
    FLEETADM_TRY(work::Impact one, strategy_impact(hub, before, after));
    impact.clusters = one.clusters;
    impact.lost.insert(impact.lost.end(), one.lost.begin(), one.lost.end());
  }
  Report report;
  FLEETADM_TRY(auto plan, guard_impact(context, options.guard, title_of(names), impact, report.notes));
  if (plan) return std::move(*plan);
  const kube::Resource& type = api::cluster_management_addons();
  std::vector<Json> declarations;
  for (const std::string& name : names) {
    bool was = false;
    FLEETADM_TRY(Json stored, hub.modify(type, "", name, [&](Json& declaration) -> Status {
      was = remove_placement(declaration, placement);
      return {};
    }));
    report.lines.push_back(told(
        context, type, name,
        (was ? "no longer installed by placement " : "is not installed by placement ") + placement.ns + "/" + placement.name));
    report.names.push_back(full_name(type, name));
    declarations.push_back(std::move(stored));
  }
  report.data = list_of(std::move(declarations));
  return report;
}

Result<Report> run_disable(Context& context, const DisableOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const auto hub, context.client());
  const auto names = options.targets.all_names(args);
  return options.targets.where.placement.empty() ? disable_on_clusters(context, hub, options, names)
                                                 : disable_by_placement(context, hub, options, names);
}

}  // namespace

void register_addon_disable(Registry& registry) {
  Command command;
  command.path = "addon disable";
  command.group = "Add-ons";
  command.summary = "Disable add-ons on clusters";
  command.description =
      "Deletes the ManagedClusterAddOns; the hub runs the hooks of an add-on and removes its agent. With --placement, the placement "
      "is taken from the add-on's install strategy, and the clusters that no other placement of it selects lose the add-on. "
      "Disabling what is not enabled succeeds.";
  command.description += kGuardText;
  command.args = {"[NAME...]", 0, -1};
  command.args.complete = Complete::kAddons;
  command.examples = {{"Preview the change", "fleetadm addon disable hello --clusters c1 --plan"},
                      {"In a script", "fleetadm addon disable --names hello --clusters c1 --allow-removals"}};
  command.make = invocation<DisableOptions>(
      [](FlagSet& flags, DisableOptions& options) {
        bind_addon_targets(flags, options.targets);
        bind_guard(flags, options.guard);
      },
      [](const DisableOptions& options, const std::vector<std::string>& args) {
        return validate_addon_targets(options.targets, args);
      },
      run_disable);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
