// addon install and uninstall: the add-ons that come with fleetadm.
#include "commands/addon/addon.h"
#include "commands/addon/built_in.h"
#include "commands/framework/addon_change.h"
#include "commands/framework/grammar.h"
#include "commands/framework/targets.h"
#include "commands/framework/write_report.h"
#include "core/api/kinds.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {
namespace {

struct InstallOptions {
  std::string image;
};

struct UninstallOptions {
  GuardOptions guard;
  Duration timeout = kWaitTimeout;
};

Status check_built_in(const std::vector<std::string>& args) {
  if (is_built_in(args.front())) return {};
  return fail(Category::kNotFound, "fleetadm has no add-on \"" + args.front() + "\" of its own",
              "it has " + joined(built_in_addons(), ", ") + "; others are made of manifests with: fleetadm addon create");
}

Result<Report> run_install(Context& context, const InstallOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  Report report;
  FLEETADM_TRY(std::vector<Json> objects, install_built_in(context, hub, args.front(), options.image, report));
  report.data = list_of(std::move(objects));
  report.notes.push_back("Enable it with: fleetadm addon enable " + args.front() + " --clusters CLUSTER");
  return report;
}

Result<std::vector<Json>> enabled_addons(const kube::Client& hub, const std::string& name) {
  kube::ListOptions named;
  named.field_selector = "metadata.name=" + name;
  std::vector<Json> addons;
  FLEETADM_CHECK(hub.list_each(api::managed_cluster_addons(), "", named, [&](Json&& one) -> Status {
    addons.push_back(std::move(one));
    return {};
  }));
  return addons;
}

/// The hub needs the declaration and the template to remove the agents: they go last.
Status remove_from_clusters(Context& context, const kube::Client& hub, const std::string& name, const std::vector<Json>& addons,
                            Duration timeout, Report& report) {
  FLEETADM_CHECK(addon::modify_declaration(hub, name, [](Json& declaration) -> Status {
    at_or_make(declaration, {"spec", "installStrategy"}) = {{"type", "Manual"}};  // or the hub puts them back
    return {};
  }));
  for (const Json& one : addons) {
    kube::DeleteOptions exactly;
    exactly.uid = uid_of(one);
    const auto removed = hub.remove(api::managed_cluster_addons(), namespace_of(one), name, exactly);
    if (!removed && removed.error().category != Category::kNotFound) return tl::unexpected(removed.error());
    report.lines.push_back(told(context, api::managed_cluster_addons(), name, "disabled on cluster " + namespace_of(one)));
  }
  if (is_dry(context)) return {};
  for (const Json& one : addons) {
    context.progress().begin("Waiting until " + name + " is gone from " + namespace_of(one));
    const auto gone = kube::wait_for(
        hub, api::managed_cluster_addons(), namespace_of(one), name,
        [](const std::optional<Json>& addon) -> Result<bool> { return !addon.has_value(); }, timeout, context.stop());
    if (!gone) {
      context.progress().failed(gone.error().message);
      Error error = gone.error().wrap("the add-on is not gone from cluster " + namespace_of(one));
      error.hint = "see what it waits for: fleetadm addon status " + name + " --clusters " + namespace_of(one);
      return fail(std::move(error));
    }
    context.progress().done();
  }
  return {};
}

Result<Report> run_uninstall(Context& context, const UninstallOptions& options, const std::vector<std::string>& args) {
  const std::string& name = args.front();
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const std::vector<BuiltInObject> objects, installed_objects(hub, name));
  Report report;
  report.data = Json{{"kind", "DeleteReport"}, {"addons", Json::array()}};
  if (objects.empty()) {
    report.lines.push_back("Nothing to uninstall: the hub does not have add-on " + name + ".");
    return report;
  }
  FLEETADM_TRY(const std::vector<Json> addons, enabled_addons(hub, name));
  work::Impact impact;
  FLEETADM_CHECK(hub.list_each(api::managed_clusters(), "", {}, [&](const Json&) -> Status {
    ++impact.clusters;
    return {};
  }));
  for (const Json& one : addons)
    impact.lost.push_back({work::LostWork::Effect::kRemoved, namespace_of(one), "add-on " + name, ""});
  FLEETADM_TRY(auto plan, guard_impact(context, options.guard, "uninstalling add-on " + name, impact, report.notes));
  if (plan) return std::move(*plan);
  if (!addons.empty()) FLEETADM_CHECK(remove_from_clusters(context, hub, name, addons, options.timeout, report));
  for (const BuiltInObject& one : objects) {
    kube::DeleteOptions exactly;
    exactly.uid = one.uid;
    const auto removed = hub.remove(one.resource, "", one.name, exactly);
    if (!removed && removed.error().category != Category::kNotFound) return tl::unexpected(removed.error());
    report.lines.push_back(told(context, one.resource, one.name, "deleted"));
    report.names.push_back(full_name(one.resource, one.name));
  }
  for (const Json& one : addons) report.data["addons"].push_back({{"namespace", namespace_of(one)}, {"name", name}});
  return report;
}

}  // namespace

void register_addon_install(Registry& registry) {
  Command command;
  command.path = "addon install";
  command.group = "Add-ons";
  command.summary = "Put an add-on that comes with fleetadm on the hub";
  command.description =
      "resource-usage-collect publishes the free CPU and memory of each cluster as scores for placements. "
      "managed-serviceaccount keeps tokens of the clusters' service accounts on the hub (\"fleetadm msa\"). Creates the add-on's "
      "declaration, its template and the role of its agents; \"addon enable\" puts it on clusters, and installs it first where it "
      "is not there. If it is installed, its template is brought up to date, and its agents are upgraded by the add-on's "
      "strategies; the strategies and configurations stay.";
  command.args = {"NAME", 1, 1, false, Complete::kValues, built_in_addons()};
  command.examples = {{"Scores of free CPU and memory", "fleetadm addon install resource-usage-collect"},
                      {"With an image that the clusters can pull",
                       "fleetadm addon install resource-usage-collect --image registry.example.com/fleetadm:v0.1.0"}};
  command.make = invocation<InstallOptions>(
      [](FlagSet& flags, InstallOptions& options) {
        flags.text(&options.image, "image", "fleetadm image for the agents").default_text = "that of the hub";
      },
      [](const InstallOptions&, const std::vector<std::string>& args) { return check_built_in(args); }, run_install);
  registry.add(std::move(command));

  command = Command();
  command.path = "addon uninstall";
  command.group = "Add-ons";
  command.summary = "Remove an add-on that comes with fleetadm from all clusters and the hub";
  command.description =
      "Disables it on every cluster, waits until its agents are gone, and deletes its declaration, template and role. Its CRD, if "
      "it has one, stays with the objects that were made of it. What is not installed is no error.";
  command.description += kGuardText;
  command.args = {"NAME", 1, 1, false, Complete::kValues, built_in_addons()};
  command.examples = {{"Preview the change", "fleetadm addon uninstall resource-usage-collect --plan"}};
  command.make = invocation<UninstallOptions>(
      [](FlagSet& flags, UninstallOptions& options) {
        bind_guard(flags, options.guard);
        timeout_flag(flags, &options.timeout, "how long to wait until the agents are gone");
      },
      [](const UninstallOptions&, const std::vector<std::string>& args) { return check_built_in(args); }, run_uninstall);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
