// addon enable and addon disable: an add-on on the clusters that are named.
#include <algorithm>
#include <set>

#include "commands/addon/addon.h"
#include "commands/framework/grammar.h"
#include "commands/framework/guard.h"
#include "commands/framework/named.h"
#include "commands/framework/targets.h"
#include "commands/framework/write_report.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {
namespace {

/// Add-ons, and the clusters that they are meant for.
struct AddonTargets {
  std::vector<std::string> names;
  std::vector<std::string> clusters;
  std::string selector;
};

struct EnableOptions {
  AddonTargets targets;
  std::string install_namespace;
  bool wait = false;
  Duration timeout = kWaitTimeout;
};

struct DisableOptions {
  AddonTargets targets;
  GuardOptions guard;
};

void bind_addon_targets(FlagSet& flags, AddonTargets& targets) {
  Flag& names = flags.texts(&targets.names, "names", "Names of add-ons");
  names.value_name = "NAME,…";
  names.complete = Complete::kAddons;
  clusters_flag(flags, &targets.clusters, "cluster names");
  flags.text(&targets.selector, "selector", "clusters that currently match this label selector", 'l').value_name = "SELECTOR";
}

Status validate_addon_targets(const AddonTargets& targets) {
  if (targets.names.empty()) return fail(Category::kUsage, "no add-on is named", "name it with --names");
  for (const std::string& name : targets.names) FLEETADM_CHECK(check_name("add-on name", name));
  if (targets.clusters.empty() == targets.selector.empty()) {
    return fail(Category::kUsage, targets.clusters.empty() ? "no clusters given" : "conflicting cluster selection",
                "use one of --clusters and -l");
  }
  for (const std::string& cluster : targets.clusters) FLEETADM_CHECK(check_name("cluster", cluster));
  return {};
}

TargetOptions clusters_only(const AddonTargets& targets) {
  TargetOptions only;
  only.clusters = targets.clusters;
  only.selector = targets.selector;
  return only;
}

Status declared(const kube::Client& hub, const std::string& name) {
  FLEETADM_TRY(const auto declaration, on_hub(hub.find(api::cluster_management_addons(), "", name)));
  if (declaration) return {};
  return fail(Category::kNotFound, "there is no add-on \"" + name + "\" on this hub",
              NearNames(hub, api::cluster_management_addons())
                  .hint(name, "make one of manifests with: fleetadm addon create " + name + " -f FILE"));
}

struct Written {
  Json addon;
  const char* what = "";
};

Result<Written> enable_one(Context& context, const kube::Client& hub, const EnableOptions& options, const std::string& name,
                           const std::string& cluster) {
  const kube::Resource& type = api::managed_cluster_addons();
  FLEETADM_TRY(auto existing, on_hub(hub.find(type, cluster, name)));
  Json wanted{{"apiVersion", type.api_version()},
              {"kind", type.kind},
              {"metadata", {{"name", name}, {"namespace", cluster}}},
              {"spec", Json::object()}};
  if (!options.install_namespace.empty()) wanted["spec"]["installNamespace"] = options.install_namespace;
  if (existing && is_deleting(*existing)) {
    return fail(Category::kConflict, "add-on \"" + name + "\" is being removed from the cluster",
                "wait until it is gone and run the command again");
  }
  if (existing && holds(*existing, wanted)) return Written{std::move(*existing), "is already enabled on cluster"};
  if (existing) {
    FLEETADM_TRY(Json changed, hub.modify(type, cluster, name, [&](Json& addon) -> Status {
      at_or_make(addon, {"spec", "installNamespace"}) = options.install_namespace;
      return {};
    }));
    FLEETADM_TRY(Json stored, read_back(context, hub, type, cluster, name, wanted, std::move(changed)));
    return Written{std::move(stored), "configured on cluster"};
  }
  FLEETADM_TRY(Json made, hub.create(type, cluster, wanted));
  FLEETADM_TRY(Json stored, read_back(context, hub, type, cluster, name, wanted, std::move(made)));
  return Written{std::move(stored), "enabled on cluster"};
}

Status await_available(Context& context, const kube::Client& hub, const EnableOptions& options, const std::string& name,
                       const std::string& cluster) {
  context.progress().begin("Waiting until " + name + " is available on " + cluster);
  const auto reached = [&](const std::optional<Json>& addon) -> Result<bool> {
    if (!addon) return fail(Category::kNotFound, "the add-on was removed in the meantime");
    return controller::condition_is(*addon, "Available", "True");
  };
  const auto waited = kube::wait_for(hub, api::managed_cluster_addons(), cluster, name, reached, options.timeout, context.stop());
  if (waited) {
    context.progress().done();
    return {};
  }
  context.progress().failed(waited.error().message);
  Error error = waited.error().wrap("it was enabled but is not available");
  error.hint = "see its conditions: kubectl -n " + cluster + " describe managedclusteraddon " + name;
  return fail(std::move(error));
}

Result<Report> run_enable(Context& context, const EnableOptions& options, const std::vector<std::string>&) {
  FLEETADM_TRY(const auto hub, context.client());
  for (const std::string& name : options.targets.names) FLEETADM_CHECK(declared(hub, name));
  FLEETADM_TRY(const ClusterTargets targets, cluster_targets(hub, clusters_only(options.targets)));
  Report report;
  report.failures = targets.missing;
  std::vector<Json> addons;
  std::vector<std::pair<std::string, std::string>> written;
  for (const std::string& name : options.targets.names) {
    for (const std::string& cluster : targets.clusters) {
      auto one = enable_one(context, hub, options, name, cluster);
      if (!one) {
        report.failures.push_back(one.error().with_cluster(cluster));
        continue;
      }
      report.lines.push_back(told(context, api::managed_cluster_addons(), name, std::string(one->what) + " " + cluster));
      report.names.push_back(full_name(api::managed_cluster_addons(), name));
      addons.push_back(std::move(one->addon));
      written.emplace_back(name, cluster);
    }
  }
  if (options.wait && !is_dry(context)) {
    for (const auto& [name, cluster] : written) {
      if (Status available = await_available(context, hub, options, name, cluster); !available)
        report.failures.push_back(available.error().with_cluster(cluster));
    }
  }
  if (addons.empty() && report.failures.size() == 1) return tl::unexpected(report.failures.front());
  report.data = list_of(std::move(addons));
  return report;
}

/// The add-ons that are there, and what their clusters lose.
struct Removal {
  std::vector<Json> addons;
  work::Impact impact;
};

Result<Removal> removal_of(const kube::Client& hub, const AddonTargets& targets, const std::vector<std::string>& clusters) {
  Removal removal;
  FLEETADM_CHECK(hub.list_each(api::managed_clusters(), "", {}, [&](const Json&) -> Status {
    ++removal.impact.clusters;
    return {};
  }));
  for (const std::string& cluster : clusters) {
    for (const std::string& name : targets.names) {
      FLEETADM_TRY(auto addon, on_hub(hub.find(api::managed_cluster_addons(), cluster, name)));
      if (!addon || is_deleting(*addon)) continue;
      removal.impact.lost.push_back({work::LostWork::Effect::kRemoved, cluster, "add-on " + name, ""});
      removal.addons.push_back(std::move(*addon));
    }
  }
  return removal;
}

Result<Report> run_disable(Context& context, const DisableOptions& options, const std::vector<std::string>&) {
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_TRY(const ClusterTargets targets, cluster_targets(hub, clusters_only(options.targets)));
  FLEETADM_TRY(const Removal removal, removal_of(hub, options.targets, targets.clusters));
  const std::set<std::string> names(options.targets.names.begin(), options.targets.names.end());
  const std::string what = std::string("disabling add-on") + (names.size() == 1 ? " " : "s ") + work::some_names(names);
  Report report;
  report.failures = targets.missing;
  FLEETADM_TRY(auto plan, guard_impact(context, options.guard, what, removal.impact, report.notes));
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

}  // namespace

void register_addon_enable(Registry& registry) {
  Command command;
  command.path = "addon enable";
  command.group = "Add-ons";
  command.summary = "Enable add-ons on clusters";
  command.description =
      "Creates a ManagedClusterAddOn for each add-on in the namespace of each cluster; the hub deploys the add-on's agent there. "
      "Enabling what is enabled changes nothing. An add-on whose declaration names placements is enabled by these, and what is "
      "enabled by hand elsewhere is removed again.";
  command.args = {"", 0, 0};
  command.examples = {{"On two clusters", "fleetadm addon enable --names hello --clusters c1,c2"},
                      {"Wait until its agents are available", "fleetadm addon enable --names hello -l env=prod --wait"}};
  command.make = invocation<EnableOptions>(
      [](FlagSet& flags, EnableOptions& options) {
        bind_addon_targets(flags, options.targets);
        flags.text(&options.install_namespace, "install-namespace", "Namespace of the agent on the clusters").value_name =
            "NAMESPACE";
        wait_flag(flags, &options.wait, "Wait until the add-ons are available");
        timeout_flag(flags, &options.timeout, "How long to wait for each of them");
      },
      [](const EnableOptions& options, const std::vector<std::string>&) -> Status {
        FLEETADM_CHECK(validate_addon_targets(options.targets));
        return options.install_namespace.empty() ? Status() : check_name("namespace", options.install_namespace);
      },
      run_enable);
  registry.add(std::move(command));
}

void register_addon_disable(Registry& registry) {
  Command command;
  command.path = "addon disable";
  command.group = "Add-ons";
  command.summary = "Disable add-ons on clusters";
  command.description =
      "Deletes the ManagedClusterAddOns; the hub runs the hooks of an add-on and removes its agent. Disabling what is not enabled "
      "succeeds.";
  command.description += kGuardText;
  command.args = {"", 0, 0};
  command.examples = {{"Preview the change", "fleetadm addon disable --names hello --clusters c1 --plan"},
                      {"In a script", "fleetadm addon disable --names hello --clusters c1 --allow-removals"}};
  command.make = invocation<DisableOptions>(
      [](FlagSet& flags, DisableOptions& options) {
        bind_addon_targets(flags, options.targets);
        bind_guard(flags, options.guard);
      },
      [](const DisableOptions& options, const std::vector<std::string>&) { return validate_addon_targets(options.targets); },
      run_disable);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
