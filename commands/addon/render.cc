// addon render: the manifests of a template for one cluster, from the hub or from files.
#include <algorithm>
#include <sstream>

#include "commands/addon/addon.h"
#include "commands/addon/template_object.h"
#include "commands/addon/template_rendering.h"
#include "commands/framework/grammar.h"
#include "commands/framework/manifests.h"
#include "commands/framework/named.h"
#include "commands/framework/targets.h"
#include "commands/framework/write_report.h"
#include "core/addon/rules/agent_identity.h"
#include "core/addon/rules/config_hash.h"
#include "core/addon/rules/conversion.h"
#include "core/api/kinds.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::commands {
namespace {

struct AddonRenderOptions {
  std::string cluster;
  std::vector<std::string> files;
  TemplateOptions made;
};

// --- from files: nothing is asked of a hub ------------------------------------------------------------------------------------

/// Takes the object for its place, which holds one.
Status take_one(Json& place, const LoadedManifest& manifest) {
  if (!place.is_null()) {
    return fail(Category::kUsage, manifest.where() + ": there is more than one " + str(manifest.object, {"kind"}),
                "one add-on is rendered with one template and one configuration");
  }
  place = manifest.object;
  return {};
}

Result<RenderingInputs> inputs_of_files(Context& context, const AddonRenderOptions& options, const std::string& name) {
  FLEETADM_TRY(const std::vector<LoadedManifest> loaded, load_manifests(context, options.files));
  RenderingInputs inputs{name, options.cluster, nullptr, nullptr, nullptr};
  std::vector<LoadedManifest> manifests;
  for (const LoadedManifest& one : loaded) {
    const addon::GroupResource type = addon::type_of(one.object);
    if (type == addon::addon_templates()) {
      FLEETADM_CHECK(take_one(inputs.addon_template, one));
    } else if (type == addon::addon_deployment_configs()) {
      FLEETADM_CHECK(take_one(inputs.config, one));
    } else if (type == addon::managed_clusters()) {
      if (name_of(one.object) == options.cluster) FLEETADM_CHECK(take_one(inputs.managed_cluster, one));
    } else if (type != addon::cluster_management_addons() && type != addon::managed_cluster_addons()) {
      manifests.push_back(one);
    }
  }
  if (inputs.addon_template.is_null()) {
    FLEETADM_CHECK(check_manifests(manifests));
    inputs.addon_template = addon_template(name, options.made, manifest_list(manifests));
  } else if (!manifests.empty()) {
    return fail(Category::kUsage, manifests.front().where() + ": the files have an AddOnTemplate and further manifests",
                "give the template, or the manifests that it is made of");
  }
  if (const std::string of = str(inputs.addon_template, {"spec", "addonName"}); of != name)
    return fail(Category::kUsage, "the AddOnTemplate is one of add-on \"" + of + "\", not of \"" + name + "\"");
  return inputs;
}

// --- from the hub -------------------------------------------------------------------------------------------------------------

constexpr std::string_view kRulesVersion = "addon.open-cluster-management.io/v1beta1";

Result<std::optional<Json>> find_addon_object(const kube::Client& hub, const kube::Resource& resource, std::string_view ns,
                                              std::string_view name) {
  FLEETADM_TRY(std::optional<Json> found, on_hub(hub.find(resource, ns, name)));
  if (!found) return found;
  (*found)["apiVersion"] = resource.api_version();
  (*found)["kind"] = resource.kind;
  FLEETADM_TRY(Json converted, addon::convert_addon(*found, kRulesVersion));
  return std::optional<Json>(std::move(converted));
}

/// The first configuration of a type: the cluster's own, else the default.
const Json* first_of(const Json& own, const Json& defaults, const addon::GroupResource& type) {
  for (const Json* list : {&own, &defaults}) {
    for (const Json& one : *list) {
      if (str(one, {"group"}) == type.group && str(one, {"resource"}) == type.resource &&
          str(one, {"name"}) != addon::kNoDefaultConfig)
        return &one;
    }
  }
  return nullptr;
}

/// Which configurations the add-on has on the cluster: those that were decided, else those that would be.
Result<Json> references_of(const kube::Client& hub, const std::string& cluster, const std::string& name, Report& report) {
  FLEETADM_TRY(const auto enabled, find_addon_object(hub, api::managed_cluster_addons(), cluster, name));
  if (enabled && !list_at(*enabled, {"status", "configReferences"}).empty())
    return list_at(*enabled, {"status", "configReferences"});
  FLEETADM_TRY(const auto declared, find_addon_object(hub, api::cluster_management_addons(), "", name));
  if (!declared) {
    NearNames near(hub, api::cluster_management_addons());
    return fail(Category::kNotFound, "there is no add-on \"" + name + "\"",
                near.hint(name, "create it with: fleetadm addon create"));
  }
  report.notes.push_back("Add-on " + name + (enabled ? " is not configured on cluster " : " is not enabled on cluster ") +
                         cluster + " yet; this is what its default configuration renders.");
  Json references = Json::array();
  const Json own = enabled ? list_at(*enabled, {"spec", "configs"}) : Json::array();
  for (const auto* type : {&addon::addon_templates(), &addon::addon_deployment_configs()}) {
    const Json* config = first_of(own, list_at(*declared, {"spec", "defaultConfigs"}), *type);
    if (config == nullptr) continue;
    Json desired = {{"name", str(*config, {"name"})}, {"namespace", str(*config, {"namespace"})}};
    references.push_back({{"group", type->group}, {"resource", type->resource}, {"desiredConfig", std::move(desired)}});
  }
  return references;
}

/// The object of the first reference of a type; null: there is no such reference.
Result<Json> referenced(const kube::Client& hub, const Json& references, const addon::GroupResource& type,
                        const kube::Resource& resource, Report& report) {
  const Json holder = {{"status", {{"configReferences", references}}}};
  const Json* reference = addon::first_config_reference(holder, type);
  if (reference == nullptr) return Json();
  const std::string name = str(*reference, {"desiredConfig", "name"});
  Result<Json> object = on_hub(hub.get(resource, str(*reference, {"desiredConfig", "namespace"}), name));
  if (!object) return object;
  (*object)["apiVersion"] = resource.api_version();
  (*object)["kind"] = resource.kind;
  const std::string decided = str(*reference, {"desiredConfig", "specHash"});
  if (!decided.empty() && decided != addon::config_spec_hash(*object)) {
    report.notes.push_back(resource.kind + " " + name +
                           " has changed since it was decided for the cluster; this is what the rollout will bring.");
  }
  return object;
}

Result<RenderingInputs> inputs_of_hub(Context& context, const AddonRenderOptions& options, const std::string& name,
                                      Report& report) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_CHECK(cluster_exists(hub, options.cluster));
  RenderingInputs inputs{name, options.cluster, nullptr, nullptr, nullptr};
  FLEETADM_TRY(const Json references, references_of(hub, options.cluster, name, report));
  FLEETADM_TRY(inputs.addon_template, referenced(hub, references, addon::addon_templates(), api::addon_templates(), report));
  if (inputs.addon_template.is_null())
    return fail(Category::kInvalid, "add-on \"" + name + "\" has no AddOnTemplate: its own manager deploys it");
  FLEETADM_TRY(inputs.config,
               referenced(hub, references, addon::addon_deployment_configs(), api::addon_deployment_configs(), report));
  FLEETADM_TRY(const auto cluster, hub.find(api::managed_clusters(), "", options.cluster));
  if (cluster) {
    inputs.managed_cluster = *cluster;
    inputs.managed_cluster["apiVersion"] = api::managed_clusters().api_version();
    inputs.managed_cluster["kind"] = api::managed_clusters().kind;
  }
  return inputs;
}

Result<Report> run_addon_render(Context& context, const AddonRenderOptions& options, const std::vector<std::string>& args) {
  Report report;
  const std::string& name = args.front();
  Result<RenderingInputs> inputs =
      options.files.empty() ? inputs_of_hub(context, options, name, report) : inputs_of_files(context, options, name);
  if (!inputs) return tl::unexpected(inputs.error());
  FLEETADM_TRY(const addon::Rendering rendering, render_inputs(*inputs));
  for (const Json& manifest : rendering.manifests) {
    if (!report.lines.empty()) report.lines.emplace_back("---");
    std::istringstream text(dump_yaml(manifest));
    for (std::string line; std::getline(text, line);) report.lines.push_back(line);
    const addon::GroupResource type = addon::type_of(manifest);
    report.names.push_back(type.qualified() + "/" + name_of(manifest));
  }
  if (rendering.manifests.empty()) report.notes.push_back("The template renders nothing for cluster " + options.cluster + ".");
  report.data = list_of(rendering.manifests);
  return report;
}

Status validate_addon_render(const AddonRenderOptions& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(check_name("add-on name", args.empty() ? std::string() : args.front()));
  FLEETADM_CHECK(check_name("cluster", options.cluster));
  if (options.made.hub_registration && options.files.empty())
    return fail(Category::kUsage, "--hub-registration requires -f", "on the hub, the template says whether its agent registers");
  return {};
}

}  // namespace

void register_addon_render(Registry& registry) {
  Command command;
  command.path = "addon render";
  command.group = "Add-ons";
  command.summary = "Show the manifests of an add-on for one cluster";
  command.description =
      "The template and the AddOnDeploymentConfig are those that were decided for the cluster or, where the add-on is not enabled "
      "there, its defaults. With -f nothing is read from a hub: the files have the manifests, or an AddOnTemplate, and may have an "
      "AddOnDeploymentConfig and the ManagedCluster. Nothing is written.";
  command.args = {"NAME", 1, 1, false, Complete::kAddons};
  command.examples = {{"What the hub deploys to a cluster", "fleetadm addon render hello --cluster c1"},
                      {"Manifests from a folder, before there is an add-on",
                       "fleetadm addon render hello --cluster c1 -f manifests/ --hub-registration"},
                      {"One field of it", "fleetadm addon render hello --cluster c1 -o jsonpath='{.items[*].metadata.name}'"}};
  command.make = invocation<AddonRenderOptions>(
      [](FlagSet& flags, AddonRenderOptions& options) {
        cluster_flag(flags, &options.cluster, "The cluster to render for").required = true;
        filenames_flag(flags, &options.files,
                       "File or folder with manifests or an AddOnTemplate, or - for stdin, instead of reading from a hub; may be "
                       "repeated");
        bind_hub_registration(flags, options.made);
      },
      validate_addon_render, run_addon_render);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
