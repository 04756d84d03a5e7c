// addon create: an AddOnTemplate of manifests, and the ClusterManagementAddOn that names it.
#include <algorithm>
#include <functional>
#include <optional>

#include "commands/addon/addon.h"
#include "commands/addon/key_values.h"
#include "commands/addon/overwrite_guard.h"
#include "commands/addon/template_object.h"
#include "commands/addon/template_rendering.h"
#include "commands/framework/grammar.h"
#include "commands/framework/manifests.h"
#include "commands/framework/schema_check.h"
#include "commands/framework/targets.h"
#include "commands/framework/write_report.h"
#include "core/addon/rules/earlier_contents.h"
#include "core/addon/rules/names.h"
#include "core/api/kinds.h"
#include "kubeclient/base/ascii.h"

namespace fleetadm::commands {
namespace {

struct AddonCreateOptions {
  std::vector<std::string> files;
  bool recursive = false;  // folders are read as a whole anyway
  TemplateOptions made;
  bool overwrite = false;
  AddonGuardOptions guard;  // of what is overwritten
  std::vector<std::string> labels;
  std::string placement;
};

/// What is asked of the two objects.
struct WantedAddon {
  std::string name;
  Json addon_template;
  KeyValues labels;
  Json strategy;  // null: as it is, or Manual
};

Json template_reference(const WantedAddon& wanted) {
  return {
      {"group", addon::kGroup}, {"resource", addon::kTemplates}, {"defaultConfig", {{"name", name_of(wanted.addon_template)}}}};
}

/// Gives a declaration what is asked, and leaves the rest of it to whoever set it.
Status edit_declaration(Json& declaration, const WantedAddon& wanted) {
  for (const auto& [key, value] : wanted.labels) at_or_make(declaration, {"metadata", "labels", key}) = value;
  at_or_make(declaration, {"metadata", "annotations", addon::kLifecycleAnnotation}) = "addon-manager";
  Json& supported = at_or_make(declaration, {"spec", "supportedConfigs"});
  if (!supported.is_array()) supported = Json::array();
  const auto same = std::find_if(supported.begin(), supported.end(), [](const Json& one) {
    return str(one, {"group"}) == addon::kGroup && str(one, {"resource"}) == addon::kTemplates;
  });
  if (same == supported.end()) {
    supported.push_back(template_reference(wanted));
  } else {
    *same = template_reference(wanted);
  }
  Json& strategy = at_or_make(declaration, {"spec", "installStrategy"});
  if (!wanted.strategy.is_null()) strategy = wanted.strategy;
  if (!strategy.is_object()) strategy = {{"type", "Manual"}};
  return {};
}

Status edit_template(Json& object, const WantedAddon& wanted) {
  for (const auto& [key, value] : wanted.labels) at_or_make(object, {"metadata", "labels", key}) = value;
  const Json before = object;
  object["spec"] = wanted.addon_template.at("spec");
  // One that changes in place can be undone.
  if (find(before, {"spec"}) != nullptr && before.at("spec") != object.at("spec")) addon::keep_contents(object, before);
  return {};
}

Json bare_object(const kube::Resource& resource, const std::string& name) {
  return {{"apiVersion", resource.api_version()}, {"kind", resource.kind}, {"metadata", {{"name", name}}}};
}

Result<WantedAddon> wanted_addon(Context& context, const AddonCreateOptions& options, const std::string& name) {
  FLEETADM_TRY(const std::vector<LoadedManifest> loaded, load_manifests(context, options.files));
  FLEETADM_CHECK(check_manifests(loaded));
  WantedAddon wanted{name, addon_template(name, options.made, manifest_list(loaded)), {}, nullptr};
  FLEETADM_TRY(wanted.labels, labels_of_words(options.labels));
  if (!options.placement.empty()) {
    FLEETADM_TRY(const PlacementRef ref, placement_ref(context, options.placement));
    wanted.strategy = {{"type", "Placements"}, {"placements", Json::array({{{"name", ref.name}, {"namespace", ref.ns}}})}};
  }
  return wanted;
}

/// What the server would refuse, and what no cluster could render.
Status check_wanted(const WantedAddon& wanted, std::vector<std::string>& notes) {
  Json declaration = bare_object(api::cluster_management_addons(), wanted.name);
  Json made = wanted.addon_template;
  FLEETADM_CHECK(edit_declaration(declaration, wanted));
  FLEETADM_CHECK(edit_template(made, wanted));
  FLEETADM_CHECK(KindSchema(api::addon_templates()).check(made, "-f", notes));
  FLEETADM_CHECK(KindSchema(api::cluster_management_addons()).check(declaration, "-f", notes));
  const auto rendered = render_inputs({wanted.name, "cluster", made, nullptr, nullptr});
  if (!rendered) return fail(rendered.error().wrap("the manifests cannot be rendered"));
  return {};
}

/// One of the two objects: as it is, as it is to be, and how it gets there.
struct PlannedObject {
  const kube::Resource& resource;
  std::string name;
  std::function<Status(Json&)> edit;
  std::optional<Json> existing;
  Json wanted;

  bool differs() const { return !existing || *existing != wanted; }
};

/// kConflict where it exists, differs, and may not be changed.
Result<PlannedObject> plan_object(const kube::Client& hub, const kube::Resource& resource, const std::string& name,
                                  bool overwrite, std::function<Status(Json&)> edit) {
  FLEETADM_TRY(std::optional<Json> existing, on_hub(hub.find(resource, "", name)));
  PlannedObject planned{resource, name, std::move(edit), std::move(existing), bare_object(resource, name)};
  if (planned.existing) planned.wanted = *planned.existing;
  FLEETADM_CHECK(planned.edit(planned.wanted));
  if (!planned.existing || *planned.existing == planned.wanted) return planned;
  const std::string what = lower_case(resource.kind) + " \"" + name + "\"";
  if (is_deleting(*planned.existing))
    return fail(Category::kConflict, what + " is being deleted", "wait until it has been deleted");
  if (overwrite) return planned;
  return fail(Category::kConflict, what + " already exists and differs", "to change it, add --overwrite");
}

Result<Json> write_planned(Context& context, const kube::Client& hub, const PlannedObject& planned, Report& report) {
  const kube::Resource& resource = planned.resource;
  std::string what = "unchanged";
  Json stored = planned.wanted;
  if (!planned.existing) {
    what = "created";
    FLEETADM_TRY(stored, on_hub(hub.create(resource, "", planned.wanted)));
  } else if (*planned.existing != planned.wanted) {
    what = "configured";
    FLEETADM_TRY(stored, hub.modify(resource, "", planned.name, planned.edit));
  }
  if (what != "unchanged") {
    FLEETADM_TRY(stored, read_back(context, hub, resource, "", planned.name, planned.wanted, std::move(stored)));
  }
  report.lines.push_back(told(context, resource, planned.name, what));
  report.names.push_back(full_name(resource, planned.name));
  stored["apiVersion"] = resource.api_version();
  stored["kind"] = resource.kind;
  return stored;
}

Result<Report> run_addon_create(Context& context, const AddonCreateOptions& options, const std::vector<std::string>& args) {
  Report report;
  const std::string& name = args.front();
  FLEETADM_TRY(const WantedAddon wanted, wanted_addon(context, options, name));
  FLEETADM_CHECK(check_wanted(wanted, report.notes));
  FLEETADM_TRY(const kube::Client hub, context.client());
  if (!options.placement.empty()) {
    FLEETADM_TRY(const PlacementRef ref, placement_ref(context, options.placement));
    FLEETADM_CHECK(placement_exists(hub, ref));
  }
  FLEETADM_TRY(const PlannedObject made,
               plan_object(hub, api::addon_templates(), name_of(wanted.addon_template), options.overwrite,
                           [&](Json& object) { return edit_template(object, wanted); }));
  FLEETADM_TRY(const PlannedObject declaration, plan_object(hub, api::cluster_management_addons(), name, options.overwrite,
                                                            [&](Json& object) { return edit_declaration(object, wanted); }));
  if (declaration.existing) {
    FLEETADM_CHECK(
        guard_overwrite(context, hub, options.guard, {*declaration.existing, declaration.wanted, made.wanted}, report.notes));
  }
  // The template first: a declaration never names what is not there.
  std::vector<Json> written;
  for (const PlannedObject* one : {&made, &declaration}) {
    FLEETADM_TRY(Json stored, write_planned(context, hub, *one, report));
    written.push_back(std::move(stored));
  }
  const bool by_hand = str(written.back(), {"spec", "installStrategy", "type"}) == "Manual";
  report.data = list_of(std::move(written));
  if (!is_dry(context)) {
    report.notes.push_back("See what a cluster gets with: fleetadm addon render " + name + " --cluster CLUSTER");
    if (by_hand) report.notes.push_back("Enable it with: fleetadm addon enable --names " + name + " --clusters CLUSTER");
  }
  return report;
}

Status validate_addon_create(const AddonCreateOptions& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(check_name("add-on name", args.empty() ? std::string() : args.front()));
  FLEETADM_CHECK(check_name("template name", args.front() + "-" + options.made.version));
  if (!options.made.cluster_role.empty() && !options.made.hub_registration)
    return fail(Category::kUsage, "--cluster-role-bind requires --hub-registration", "rights are granted to a registered agent");
  FLEETADM_TRY([[maybe_unused]] const KeyValues labels, labels_of_words(options.labels));
  return {};
}

void bind_addon_create(FlagSet& flags, AddonCreateOptions& options) {
  manifests_flag(flags, options.files).required = true;
  flags.boolean(&options.recursive, "recursive", "Read folders below a folder, too; they always are", 'R');
  Flag& version = flags.text(&options.made.version, "version", "Version of the template, whose name is NAME-VERSION");
  version.value_name = "VERSION";
  version.default_text = options.made.version;
  bind_hub_registration(flags, options.made);
  flags
      .text(&options.made.cluster_role, "cluster-role-bind",
            "ClusterRole that the agent gets in its cluster's namespace on the hub")
      .value_name = "CLUSTERROLE";
  flags.comma_texts(&options.labels, "labels", "Labels of both objects").value_name = "KEY=VALUE";
  placement_flag(flags, &options.placement, "Install the add-on on the clusters this placement selects").aliases = {
      "placement-ref"};
  flags.boolean(&options.overwrite, "overwrite", "Change the template and the declaration if they already exist");
  bind_overwrite_guard(flags, options.guard);
}

}  // namespace

void register_addon_create(Registry& registry) {
  Command command;
  command.path = "addon create";
  command.group = "Add-ons";
  command.summary = "Make an add-on of manifests";
  command.description =
      "Creates an AddOnTemplate with the manifests and a ClusterManagementAddOn whose default it is. In the manifests, {{NAME}} "
      "stands for a variable: CLUSTER_NAME, INSTALL_NAMESPACE, HUB_KUBECONFIG, and those of an AddOnDeploymentConfig. Both objects "
      "are checked as the server would check them, and the manifests are rendered once, before anything is written. Without "
      "--placement the add-on is enabled cluster by cluster. With --overwrite, a declaration keeps the install strategy and the "
      "other configurations that it has; if more than 10 clusters would be changed at once, or more than 20 % of the clusters that "
      "have the add-on would lose objects of it, the command asks first, and is refused without a terminal unless --allow-many or "
      "--allow-removals is given. \"addon upgrade -f\" shows with --plan what new manifests would do.";
  command.args = {"NAME", 1, 1};
  command.aliases = {"create addon"};
  command.examples = {{"From a folder of manifests", "fleetadm addon create hello -f manifests/"},
                      {"See the objects, and write nothing", "fleetadm addon create hello -f agent.yaml --dry-run -o yaml"},
                      {"An agent that registers with the hub and has rights in its cluster's namespace there",
                       "fleetadm addon create hello -f agent.yaml --hub-registration --cluster-role-bind hello-agent"},
                      {"A new version, on every cluster that a placement selects",
                       "fleetadm addon create hello -f agent.yaml --version 0.0.2 --placement apps/eu --overwrite"}};
  command.make = invocation<AddonCreateOptions>(bind_addon_create, validate_addon_create, run_addon_create);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
