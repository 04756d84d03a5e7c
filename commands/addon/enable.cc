// addon enable: add-ons on the clusters that are named, or on those that a placement selects.
#include "commands/addon/addon.h"
#include "commands/addon/built_in.h"
#include "commands/addon/config_documents.h"
#include "commands/addon/install_strategy.h"
#include "commands/addon/key_values.h"
#include "commands/addon/targets.h"
#include "commands/framework/addon_change.h"
#include "commands/framework/grammar.h"
#include "commands/framework/guard.h"
#include "commands/framework/write_report.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {
namespace {

struct EnableOptions {
  AddonTargets targets;
  std::string install_namespace;
  std::vector<std::string> labels;
  std::vector<std::string> annotations;
  std::string config_file;
  GuardOptions guard;
  bool wait = false;
  Duration timeout = kWaitTimeout;
};

/// What the ManagedClusterAddOns are asked to be, beside their name and namespace.
Result<Json> asked_of_addons(Context& context, const EnableOptions& options, const Json& configs) {
  FLEETADM_TRY(const KeyValues labels, labels_of_words(options.labels));
  FLEETADM_TRY(const KeyValues annotations, annotations_of_words(options.annotations));
  Json asked{{"spec", Json::object()}};
  if (!labels.empty()) asked["metadata"]["labels"] = labels;
  if (!annotations.empty()) asked["metadata"]["annotations"] = annotations;
  const std::string& given = context.global().config.ns;  // -n, as clusteradm means it here
  const std::string& ns = options.install_namespace.empty() ? given : options.install_namespace;
  if (!ns.empty()) asked["spec"]["installNamespace"] = ns;
  if (!configs.empty()) asked["spec"]["configs"] = configs;
  return asked;
}

struct WrittenAddon {
  Json addon;
  const char* what = "";
};

Result<WrittenAddon> enable_one(Context& context, const kube::Client& hub, const Json& asked, const std::string& name,
                                const std::string& cluster) {
  const kube::Resource& type = api::managed_cluster_addons();
  FLEETADM_TRY(auto existing, on_hub(hub.find(type, cluster, name)));
  Json wanted = asked;
  wanted["apiVersion"] = type.api_version();
  wanted["kind"] = type.kind;
  wanted["metadata"]["name"] = name;
  wanted["metadata"]["namespace"] = cluster;
  if (existing && is_deleting(*existing)) {
    return fail(Category::kConflict, "add-on \"" + name + "\" is being removed from the cluster",
                "wait until it is gone and run the command again");
  }
  if (existing && holds(*existing, wanted)) return WrittenAddon{std::move(*existing), "is already enabled on cluster"};
  if (existing) {
    FLEETADM_TRY(Json changed, hub.modify(type, cluster, name, [&](Json& addon) -> Status {
      addon.merge_patch(asked);
      return {};
    }));
    FLEETADM_TRY(Json stored, read_back(context, hub, type, cluster, name, wanted, std::move(changed)));
    return WrittenAddon{std::move(stored), "configured on cluster"};
  }
  FLEETADM_TRY(Json made, hub.create(type, cluster, wanted));
  FLEETADM_TRY(Json stored, read_back(context, hub, type, cluster, name, wanted, std::move(made)));
  return WrittenAddon{std::move(stored), "enabled on cluster"};
}

/// `by_hub`: the hub creates the add-on on the cluster, and may not have done so yet.
Status await_available(Context& context, const kube::Client& hub, Duration timeout, const std::string& name,
                       const std::string& cluster, bool by_hub) {
  context.progress().begin("Waiting until " + name + " is available on " + cluster);
  const auto reached = [&](const std::optional<Json>& addon) -> Result<bool> {
    if (!addon && by_hub) return false;
    if (!addon) return fail(Category::kNotFound, "the add-on was removed in the meantime");
    return controller::condition_is(*addon, "Available", "True");
  };
  const auto waited = kube::wait_for(hub, api::managed_cluster_addons(), cluster, name, reached, timeout, context.stop());
  if (waited) {
    context.progress().done();
    return {};
  }
  context.progress().failed(waited.error().message);
  Error error = waited.error().wrap("it was enabled but is not available");
  error.hint = "see what is missing: fleetadm addon status " + name + " --clusters " + cluster;
  return fail(std::move(error));
}

void await_all(Context& context, const kube::Client& hub, const EnableOptions& options, const std::vector<std::string>& names,
               const std::vector<std::string>& clusters, Report& report) {
  if (!options.wait || is_dry(context)) return;
  for (const std::string& name : names) {
    for (const std::string& cluster : clusters) {
      const bool by_hub = !options.targets.where.placement.empty();
      if (Status available = await_available(context, hub, options.timeout, name, cluster, by_hub); !available)
        report.failures.push_back(available.error().with_cluster(cluster));
    }
  }
}

Result<Report> enable_on_clusters(Context& context, const kube::Client& hub, const EnableOptions& options,
                                  const std::vector<std::string>& names) {
  FLEETADM_TRY(const ClusterTargets targets, cluster_targets(hub, options.targets.where));
  Report report;
  report.failures = targets.missing;
  Json configs = Json::array();
  if (!options.config_file.empty() && !targets.clusters.empty()) {
    FLEETADM_TRY(configs, apply_config_documents(context, hub, options.config_file, report));
  }
  FLEETADM_TRY(const Json asked, asked_of_addons(context, options, configs));
  std::vector<Json> addons;
  for (const std::string& name : names) {
    std::vector<std::string> enabled;
    for (const std::string& cluster : targets.clusters) {
      auto one = enable_one(context, hub, asked, name, cluster);
      if (!one) {
        report.failures.push_back(one.error().with_cluster(cluster));
        continue;
      }
      report.lines.push_back(told(context, api::managed_cluster_addons(), name, std::string(one->what) + " " + cluster));
      report.names.push_back(full_name(api::managed_cluster_addons(), name));
      addons.push_back(std::move(one->addon));
      enabled.push_back(cluster);
    }
    await_all(context, hub, options, {name}, enabled, report);
  }
  if (addons.empty() && report.failures.size() == 1) return tl::unexpected(report.failures.front());
  report.data = list_of(std::move(addons));
  return report;
}

Result<Report> enable_by_placement(Context& context, const kube::Client& hub, const EnableOptions& options,
                                   const std::vector<std::string>& names) {
  FLEETADM_TRY(const PlacementRef placement, placement_ref(context, options.targets.where.placement));
  FLEETADM_CHECK(placement_exists(hub, placement));
  work::Impact impact;
  for (const std::string& name : names) {
    FLEETADM_TRY(const Json before, declaration_of(hub, name));
    Json after = before;
    add_placement(after, placement, Json::array());
    FLEETADM_TRY(const work::Impact one, strategy_impact(hub, before, after));
    impact.clusters = one.clusters;
    impact.lost.insert(impact.lost.end(), one.lost.begin(), one.lost.end());
  }
  Report report;
  const std::string where = "placement " + placement.ns + "/" + placement.name;
  FLEETADM_TRY(auto plan, guard_impact(context, options.guard, "installing by " + where, impact, report.notes));
  if (plan) return std::move(*plan);
  Json configs = Json::array();
  if (!options.config_file.empty()) {
    FLEETADM_TRY(configs, apply_config_documents(context, hub, options.config_file, report));
  }
  const kube::Resource& type = api::cluster_management_addons();
  std::vector<Json> declarations;
  for (const std::string& name : names) {
    bool changed = false;
    FLEETADM_TRY(Json stored, hub.modify(type, "", name, [&](Json& declaration) -> Status {
      const Json before = declaration;
      add_placement(declaration, placement, configs);
      changed = declaration != before;
      return {};
    }));
    report.lines.push_back(told(context, type, name, (changed ? "installed by " : "is already installed by ") + where));
    report.names.push_back(full_name(type, name));
    declarations.push_back(std::move(stored));
  }
  FLEETADM_TRY(const auto clusters, decided_clusters(hub, placement));
  await_all(context, hub, options, names, clusters, report);
  if (clusters.empty())
    report.notes.push_back("The placement selects no cluster yet; see why with: fleetadm placement explain " + placement.name +
                           " -n " + placement.ns);
  report.data = list_of(std::move(declarations));
  return report;
}

/// One that comes with fleetadm is installed where the hub does not have it; nothing but a dry run goes on without it.
Status declared_or_installed(Context& context, const kube::Client& hub, const EnableOptions& options, const std::string& name,
                             Report& installed) {
  const auto declared = declaration_of(hub, name);
  if (declared) return {};
  const bool changes_nothing = options.guard.plan || (is_dry(context) && !options.targets.where.placement.empty());
  if (declared.error().category != Category::kNotFound || !is_built_in(name) || changes_nothing)
    return tl::unexpected(declared.error());
  FLEETADM_CHECK(install_built_in(context, hub, name, {}, installed));
  return {};
}

Result<Report> run_enable(Context& context, const EnableOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const auto hub, context.client());
  const auto names = options.targets.all_names(args);
  Report installed;
  for (const std::string& name : names) FLEETADM_CHECK(declared_or_installed(context, hub, options, name, installed));
  FLEETADM_TRY(Report report, options.targets.where.placement.empty() ? enable_on_clusters(context, hub, options, names)
                                                                      : enable_by_placement(context, hub, options, names));
  report.lines.insert(report.lines.begin(), installed.lines.begin(), installed.lines.end());
  report.names.insert(report.names.begin(), installed.names.begin(), installed.names.end());
  return report;
}

Status validate_enable(const EnableOptions& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(validate_addon_targets(options.targets, args));
  FLEETADM_TRY([[maybe_unused]] const KeyValues labels, labels_of_words(options.labels));
  FLEETADM_TRY([[maybe_unused]] const KeyValues annotations, annotations_of_words(options.annotations));
  const bool of_one = !options.install_namespace.empty() || !labels.empty() || !annotations.empty();
  if (of_one && !options.targets.where.placement.empty()) {
    return fail(Category::kUsage, "--install-namespace, --labels and --annotate belong to add-ons of single clusters",
                "with --placement, configure them with --config-file");
  }
  return options.install_namespace.empty() ? Status() : check_name("namespace", options.install_namespace);
}

void bind_enable(FlagSet& flags, EnableOptions& options) {
  bind_addon_targets(flags, options.targets);
  Flag& ns = flags.text(&options.install_namespace, "install-namespace", "Namespace of the agent on the clusters, as -n");
  ns.value_name = "NAMESPACE";
  flags.comma_texts(&options.labels, "labels", "Labels of the ManagedClusterAddOns").value_name = "KEY=VALUE";
  flags.comma_texts(&options.annotations, "annotate", "Annotations of the ManagedClusterAddOns").value_name = "KEY=VALUE";
  Flag& file = flags.text(&options.config_file, "config-file",
                          "File of configurations, such as an AddOnDeploymentConfig, to apply to the hub and use");
  file.value_name = "FILE";
  file.complete = Complete::kFiles;
  bind_guard(flags, options.guard);
  wait_flag(flags, &options.wait, "Wait until the add-ons are available");
  timeout_flag(flags, &options.timeout, "How long to wait for each of them");
}

}  // namespace

void register_addon_enable(Registry& registry) {
  Command command;
  command.path = "addon enable";
  command.group = "Add-ons";
  command.summary = "Enable add-ons on clusters";
  command.description =
      "Creates a ManagedClusterAddOn for each add-on in the namespace of each cluster; the hub deploys the add-on's agent there. "
      "Enabling what is enabled changes nothing; labels and annotations are added to those that are there, and configurations are "
      "replaced only with --config-file. The agent's namespace is given by --install-namespace or -n. An add-on that comes with "
      "fleetadm is installed first if the hub does not have it (\"addon install\").\n\n"
      "With --placement, the placement becomes a part of the add-on's install strategy, and the hub enables the add-on wherever "
      "it selects a cluster, now and later. What was enabled by hand elsewhere is then removed: the command asks first; without a "
      "terminal it is refused unless --allow-removals is given, and --plan shows which clusters would lose the add-on.";
  command.args = {"[NAME...]", 0, -1};
  command.args.complete = Complete::kAddons;
  command.examples = {{"On two clusters", "fleetadm addon enable --names hello --clusters c1,c2"},
                      {"Wait until its agents are available", "fleetadm addon enable hello -l env=prod --wait"},
                      {"Wherever a placement selects a cluster", "fleetadm addon enable hello --placement apps/eu --plan"}};
  command.make = invocation<EnableOptions>(bind_enable, validate_enable, run_enable);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
