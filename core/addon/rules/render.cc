#include "core/addon/rules/render.h"

#include "core/addon/rules/agent_identity.h"
#include "core/addon/rules/config_hash.h"
#include "core/addon/rules/decorations.h"
#include "core/addon/rules/substitution.h"
#include "core/api/kinds.h"
#include "kubeclient/rest/path_check.h"

namespace fleetadm::addon {
namespace {

Status check_released(const Json& object, const Json& addon, const GroupResource& type) {
  const std::string decided = str(*first_config_reference(addon, type), {"desiredConfig", "specHash"});
  if (config_spec_hash(object) == decided) return {};
  Error error;
  error.category = Category::kConflict;
  error.reason = kNotReleased;
  error.message = "waiting for the rollout: " + str(object, {"kind"}) + " " + name_of(object) +
                  " has changed since it was decided for this cluster";
  return fail(std::move(error));
}

/// The AddOnDeploymentConfig of the add-on; nullptr where none is referenced.
Result<ObjectPtr> deployment_config_of(const ObjectReader& objects, const Json& addon) {
  const Json* reference = first_config_reference(addon, addon_deployment_configs());
  if (reference == nullptr) return ObjectPtr();
  if (str(*reference, {"desiredConfig", "specHash"}).empty()) {
    return fail(Category::kInvalid, "addon " + name_of(addon) + " deployment config desired spec hash is empty");
  }
  const std::string ns = str(*reference, {"desiredConfig", "namespace"});
  const std::string name = str(*reference, {"desiredConfig", "name"});
  ObjectPtr config = objects.get(addon_deployment_configs(), ns, name);
  if (config == nullptr) return fail(Category::kNotFound, "addondeploymentconfig " + ns + "/" + name + " not found");
  return config;
}

Status check_names(const Json& manifest) {
  for (const char* member : {"name", "namespace"}) {
    const std::string name = str(manifest, {"metadata", member});
    if (!name.empty() && !kube::is_path_name(name))
      return fail(Category::kInvalid, "metadata." + std::string(member) + " \"" + name + "\" of a manifest is not a name");
  }
  return {};
}

/// Integers beyond 64 signed bits are floating-point numbers, as in Go.
void narrow_integers(Json& value) {
  if (value.is_structured()) {
    for (Json& member : value) narrow_integers(member);
  } else if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
    value = static_cast<double>(value.get<std::uint64_t>());
  }
}

/// The manifests that the template itself has, and what is injected.
class Renderer {
 public:
  Renderer(std::string_view addon, const Json& addon_template, const TemplateValues& values, rollout::Semantics conduct)
      : addon_(addon), template_(addon_template), values_(values), conduct_(conduct) {}

  Result<std::vector<Json>> manifests() {
    for (const Json& manifest : list_at(template_, {"spec", "agentSpec", "workload", "manifests"})) {
      FLEETADM_TRY(const std::string text, substitute(dump_json(manifest), values_.variables, room_, conduct_));
      FLEETADM_TRY(Json rendered, parse_json(text));
      if (str(rendered, {"kind"}).empty()) return fail(Category::kInvalid, "a manifest is not an object with a kind");
      narrow_integers(rendered);
      if (const std::optional<WorkloadKind> kind = workload_kind(rendered)) {
        const Json& registration = list_at(template_, {"spec", "registration"});
        FLEETADM_CHECK(decorate_workload(rendered, *kind, addon_, registration, values_, decorating_));
      }
      FLEETADM_CHECK(move_to_namespace(rendered, values_.install_namespace));
      FLEETADM_CHECK(add(std::move(rendered)));
    }
    if (!values_.proxy.ca_bundle.empty()) FLEETADM_CHECK(add(proxy_ca()));
    return std::move(made_);
  }

 private:
  Status add(Json manifest) {
    if (conduct_ == rollout::Semantics::kStrict) FLEETADM_CHECK(check_names(manifest));
    const std::size_t size = dump_json(manifest).size();
    if (size > room_) {
      return fail(Category::kInvalid, "the rendered manifests are larger than " + std::to_string(kMaxRenderedBytes) + " bytes");
    }
    room_ -= size;
    made_.push_back(std::move(manifest));
    return {};
  }

  Json proxy_ca() const {
    const std::string ns = values_.install_namespace.empty() ? std::string(api::kAgentAddonNamespace) : values_.install_namespace;
    return {{"apiVersion", "v1"},
            {"kind", "ConfigMap"},
            {"metadata", {{"name", proxy_ca_name(addon_)}, {"namespace", ns}}},
            {"data", {{kProxyCaKey, values_.proxy.ca_bundle}}}};
  }

  std::string_view addon_;
  const Json& template_;
  const TemplateValues& values_;
  rollout::Semantics conduct_;
  std::size_t room_ = kMaxRenderedBytes;
  std::size_t decorating_ = 0;
  std::vector<Json> made_;
};

/// Upstream takes them from the template that the add-on's declaration names as default, whichever one is in use.
Json manifest_configs_of(const ObjectReader& objects, const Json& addon, const Json& in_use, rollout::Semantics conduct) {
  const Path path{"spec", "agentSpec", "manifestConfigs"};
  if (conduct == rollout::Semantics::kStrict) return list_at(in_use, path);
  const ObjectPtr declaration = objects.get(cluster_management_addons(), {}, name_of(addon));
  if (declaration == nullptr) return Json::array();
  for (const Json& reference : list_at(*declaration, {"status", "defaultConfigReferences"})) {
    if (str(reference, {"group"}) != addon_templates().group || str(reference, {"resource"}) != addon_templates().resource)
      continue;
    if (str(reference, {"desiredConfig", "specHash"}).empty()) return Json::array();
    const ObjectPtr named = objects.get(addon_templates(), {}, str(reference, {"desiredConfig", "name"}));
    return named == nullptr ? Json::array() : list_at(*named, path);
  }
  return Json::array();
}

}  // namespace

Result<Rendering> render_template(const ObjectReader& objects, const Json& addon, rollout::Semantics conduct) {
  FLEETADM_TRY(const ObjectPtr addon_template, template_of(objects, addon));
  FLEETADM_TRY(const ObjectPtr config, deployment_config_of(objects, addon));
  if (conduct == rollout::Semantics::kStrict) {
    if (!is_deleting(addon)) {
      FLEETADM_CHECK(check_released(*addon_template, addon, addon_templates()));
      if (config != nullptr) FLEETADM_CHECK(check_released(*config, addon, addon_deployment_configs()));
    }
    FLEETADM_CHECK(check_custom_signers(*addon_template));
  }
  const std::string cluster_name = namespace_of(addon);
  const ObjectPtr cluster = objects.get(managed_clusters(), {}, cluster_name);
  FLEETADM_TRY(const TemplateValues values, template_values(*addon_template, config.get(), cluster.get(), cluster_name));
  Rendering rendering;
  FLEETADM_TRY(rendering.manifests, Renderer(name_of(addon), *addon_template, values, conduct).manifests());
  rendering.manifest_configs = manifest_configs_of(objects, addon, *addon_template, conduct);
  return rendering;
}

}  // namespace fleetadm::addon
