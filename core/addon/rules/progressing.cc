#include "core/addon/rules/progressing.h"

#include "core/addon/rules/config_reference.h"
#include "core/addon/rules/names.h"
#include "core/controller/controller.h"

namespace fleetadm::addon {
namespace {

struct Judgement {
  std::string status;
  std::string reason;
  std::string message;
};

Judgement under_way(std::string why) { return {"True", "Progressing", "progressing... " + std::move(why)}; }
Judgement waiting_for(const std::string& condition) {
  return {"False", "WaitingFor" + condition, "Waiting for ManagedClusterAddOn " + condition + " condition"};
}

std::optional<GroupResource> unsupported_type(const Json& addon) {
  const Json& supported = list_at(addon, {"status", "supportedConfigs"});
  for (const Json& entry : list_at(addon, {"spec", "configs"})) {
    const GroupResource type = config_key(entry).type;
    bool found = false;
    for (const Json& one : supported) found = found || config_key(one).type == type;
    if (!found) return type;
  }
  return std::nullopt;
}

/// The work was rendered from the configurations that are desired.
bool has_configs(const Json& work, const Json& addon) {
  const Json& references = list_at(addon, {"status", "configReferences"});
  if (find(work, {"metadata", "annotations", kConfigSpecHashAnnotation}) == nullptr) return references.empty();
  const Result<Json> rendered = parse_json(annotation_of(work, kConfigSpecHashAnnotation));
  if (!rendered || !(rendered->is_object() || rendered->is_null())) return false;
  Json desired = Json::object();
  for (const Json& reference : references) {
    const std::optional<DesiredConfig> config = config_of(reference);
    if (!config || config->hash.empty()) return false;
    desired[config->key.type.qualified() + "/" + config->key.ns + "/" + config->key.name] = config->hash;
  }
  return rendered->is_null() ? desired.empty() : *rendered == desired;
}

bool is_ready(const Json& work) {
  for (const char* type : {"Applied", "Available"}) {
    const Json* condition = controller::find_condition(work, type);
    if (condition == nullptr || str(*condition, {"status"}) != "True") return false;
    if (num(*condition, {"observedGeneration"}) != num(work, {"metadata", "generation"})) return false;
  }
  return true;
}

Judgement judge(const ObjectReader& objects, const Json& addon) {
  if (const auto type = unsupported_type(addon)) {
    return {"False", "ConfigurationUnsupported",
            "Configuration with gvr " + type->group + "/" + type->resource + " is not supported for this addon"};
  }
  const std::string hosting = annotation_of(addon, kHostingClusterAnnotation);  // empty: the default mode
  if (controller::find_condition(addon, "ManifestApplied") == nullptr) return waiting_for("ManifestApplied");
  if (!hosting.empty() && controller::find_condition(addon, "HostingManifestApplied") == nullptr) {
    return waiting_for("HostingManifestApplied");
  }
  bool any = false;
  for (const ObjectPtr& work : objects.addon_works(namespace_of(addon), name_of(addon))) {
    if (namespace_of(*work) != namespace_of(addon) && namespace_of(*work) != hosting) continue;
    any = true;
    if (name_of(*work).starts_with("addon-" + name_of(addon) + "-pre-delete")) continue;
    if (!has_configs(*work, addon)) return under_way("mca and work configs mismatch");
    if (!is_ready(*work)) return under_way("work is not ready");
  }
  if (!any) return under_way("no addon works");
  return {"False", "Completed", "completed with no errors."};
}

}  // namespace

void judge_progress(Json& addon, const Json& declaration, const ObjectReader& objects, Instant now) {
  if (!is_managed(declaration)) return;
  const Judgement judgement = judge(objects, addon);
  controller::set_condition(at_or_make(addon, {"status", "conditions"}), "Progressing", judgement.status, judgement.reason,
                            judgement.message, now);
  if (judgement.reason != "Completed" || list_at(addon, {"status", "configReferences"}).empty()) return;
  for (Json& reference : addon["status"]["configReferences"]) {
    if (const Json* desired = find(reference, {"desiredConfig"})) reference["lastAppliedConfig"] = Json(*desired);
  }
}

}  // namespace fleetadm::addon
