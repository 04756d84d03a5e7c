#include "core/addon/rules/deploy_works.h"

#include <map>

#include "core/addon/rules/manifest_marks.h"
#include "core/addon/rules/names.h"
#include "core/api/kinds.h"
#include "core/work/rules/names.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::addon {
namespace {

bool controlled_by(const Json& work, const Json& addon) {
  for (const Json& owner : list_at(work, {"metadata", "ownerReferences"})) {
    if (!uid_of(addon).empty() && str(owner, {"uid"}) == uid_of(addon)) return true;
  }
  return false;
}

/// By label, or (in the add-on's namespace) by owner: a work whose label somebody removed is still the add-on's.
bool belongs_to(const Json& work, const Json& addon) {
  const bool named = label_of(work, api::kAddonNameLabel) == name_of(addon);
  const bool elsewhere = find(work, {"metadata", "labels", kAddonNamespaceLabel}) != nullptr;
  if (namespace_of(work) == namespace_of(addon)) return !elsewhere && (named || controlled_by(work, addon));
  return named && label_of(work, kAddonNamespaceLabel) == namespace_of(addon);
}

/// The works whose names begin with `any`. A cluster can host its own add-ons: there, `hosting` tells the sides' works apart.
std::vector<ObjectPtr> works_of(const ObjectReader& objects, const Json& addon, Side side, std::string_view any,
                                std::string_view hosting) {
  std::vector<ObjectPtr> found;
  const std::string own = namespace_of(addon);
  for (ObjectPtr& work : objects.addon_works(own, name_of(addon))) {
    const std::string name = name_of(*work);
    if (!name.starts_with(any) || !belongs_to(*work, addon)) continue;
    const bool here = namespace_of(*work) == own;
    if (here ? name.starts_with(hosting) != (side == Side::kHosting) : side == Side::kManaged) continue;
    found.push_back(std::move(work));
  }
  return found;
}

/// The rules of `more` that `into` does not have yet: a path by its name, WellKnownStatus once.
void add_feedback(Json& into, const Json& more) {
  for (const Json& rule : more) {
    if (str(rule, {"type"}) == "WellKnownStatus") {
      bool known = false;
      for (const Json& one : into) known = known || str(one, {"type"}) == "WellKnownStatus";
      if (!known) into.push_back(rule);
      continue;
    }
    Json fresh = rule;
    Json paths = Json::array();
    for (const Json& path : list_at(rule, {"jsonPaths"})) {
      bool known = false;
      for (const Json& one : into) {
        for (const Json& had : list_at(one, {"jsonPaths"})) known = known || str(had, {"name"}) == str(path, {"name"});
      }
      if (!known) paths.push_back(path);
    }
    if (paths.empty()) continue;
    fresh["jsonPaths"] = std::move(paths);
    into.push_back(std::move(fresh));
  }
}

bool same_identifier(const Json& a, const Json& b) {
  for (const char* member : {"group", "resource", "namespace", "name"}) {
    if (str(a, {"resourceIdentifier", member}) != str(b, {"resourceIdentifier", member})) return false;
  }
  return true;
}

void merge_config(Json& configs, const Json& entry) {
  for (Json& known : configs) {
    if (!same_identifier(known, entry)) continue;
    if (const Json* strategy = find(entry, {"updateStrategy"})) known["updateStrategy"] = *strategy;
    const Json& rules = list_at(entry, {"feedbackRules"});
    if (rules.empty()) return;
    Json& into = known["feedbackRules"];
    if (!into.is_array()) into = Json::array();
    add_feedback(into, rules);
    return;
  }
  configs.push_back(entry);
}

bool is_probed_kind(const AgentDescription& agent, const Json& manifest) {
  const GroupResource type = type_of(manifest);
  if (type.group != "apps") return false;
  if (agent.prober == HealthProber::kDeployments) return type.resource == "deployments";
  return agent.prober == HealthProber::kWorkloads && (type.resource == "deployments" || type.resource == "daemonsets");
}

void erase_empty_members(Json& object) {
  if (!object.is_object()) return;
  for (auto member = object.begin(); member != object.end();) {
    const Json& value = member.value();
    const bool empty = value.is_null() || ((value.is_object() || value.is_array()) && value.empty()) ||
                       (value.is_string() && value.get_ref<const std::string&>().empty());
    member = empty ? object.erase(member) : std::next(member);
  }
}

void fill_default(Json& object, const char* member, const char* value) {
  if (object.is_object() && str(object, {member}).empty()) object[member] = value;
}

/// A spec with what a server fills in and without what means the same as nothing.
Json compared_spec(const Json& work) {
  Json spec = object_at(work, {"spec"});
  if (Json* manifests = const_cast<Json*>(find(spec, {"workload", "manifests"})); manifests != nullptr) {
    for (Json& manifest : *manifests) {
      erase_at(manifest, {"metadata", "creationTimestamp"});
      erase_at(manifest, {"spec", "template", "metadata", "creationTimestamp"});
    }
  }
  if (Json* configs = const_cast<Json*>(find(spec, {"manifestConfigs"})); configs != nullptr && configs->is_array()) {
    for (Json& config : *configs) {
      fill_default(config, "feedbackScrapeType", "Poll");
      if (config.contains("updateStrategy")) {
        Json& strategy = config["updateStrategy"];
        fill_default(strategy, "type", "Update");
        if (strategy.is_object() && strategy.contains("serverSideApply"))
          fill_default(strategy["serverSideApply"], "fieldManager", work::kDefaultFieldManager.data());
      }
      if (config.contains("conditionRules") && config["conditionRules"].is_array()) {
        for (Json& rule : config["conditionRules"]) erase_empty_members(rule);
      }
      if (config.contains("resourceIdentifier")) erase_empty_members(config["resourceIdentifier"]);
      erase_empty_members(config);
    }
  }
  erase_empty_members(spec);
  return spec;
}

/// Where a cache keeps the hash: no member that a server knows.
constexpr std::string_view kSpecHash = "specHash";

std::string spec_hash(const Json& work) {
  const std::string known = str(work, {"metadata", kSpecHash});
  return known.empty() ? sha256_hex(dump_json(compared_spec(work))) : known;
}

bool same_spec(const Json& current, const Json& wanted) {
  if (find(current, {"metadata", kSpecHash}) == nullptr) return compared_spec(current) == compared_spec(wanted);
  return spec_hash(current) == spec_hash(wanted);
}

}  // namespace

std::string deploy_work_prefix(const Json& addon, Side side) {
  const std::string prefix = "addon-" + name_of(addon) + "-deploy-";
  return side == Side::kManaged ? prefix : prefix + "hosting-" + namespace_of(addon) + "-";
}

std::string hook_work_name(const Json& addon, Side side) {
  const std::string name = "addon-" + name_of(addon) + "-pre-delete";
  return side == Side::kManaged ? name : name + "-hosting-" + namespace_of(addon);
}

std::vector<ObjectPtr> deploy_works(const ObjectReader& objects, const Json& addon, Side side) {
  return works_of(objects, addon, side, "addon-" + name_of(addon) + "-deploy", deploy_work_prefix(addon, Side::kHosting));
}

std::vector<ObjectPtr> hook_works(const ObjectReader& objects, const Json& addon, Side side) {
  return works_of(objects, addon, side, hook_work_name(addon, Side::kManaged), hook_work_name(addon, Side::kHosting));
}

Json manifest_configs_of(const AgentDescription& agent) {
  Json configs = Json::array();
  for (const Json& manifest : agent.manifests) {
    if (!is_probed_kind(agent, manifest)) continue;
    merge_config(configs, Json{{"resourceIdentifier", resource_identifier(manifest)},
                               {"feedbackRules", Json::array({Json{{"type", "WellKnownStatus"}}})}});
  }
  for (const Json& field : agent.probe_fields) {
    merge_config(configs, Json{{"resourceIdentifier", object_at(field, {"resourceIdentifier"})},
                               {"feedbackRules", list_at(field, {"probeRules"})}});
  }
  for (const Json& config : agent.manifest_configs) merge_config(configs, config);
  return configs;
}

Json delete_option_of(const std::vector<Json>& manifests) {
  Json rules = Json::array();
  for (const Json& manifest : manifests) {
    if (is_orphaned(manifest)) rules.push_back(resource_identifier(manifest));
  }
  if (rules.empty()) return {};
  return Json{{"propagationPolicy", "SelectivelyOrphan"},
              {"selectivelyOrphans", Json::object({{"orphaningRules", std::move(rules)}})}};
}

std::string config_hashes_of(const Json& addon) {
  const Json& references = list_at(addon, {"status", "configReferences"});
  if (references.empty()) return {};
  Json hashes = Json::object();
  for (const Json& reference : references) {
    if (find(reference, {"desiredConfig"}) == nullptr) continue;
    const GroupResource type{str(reference, {"group"}), str(reference, {"resource"})};
    hashes[type.qualified() + "/" + str(reference, {"desiredConfig", "namespace"}) + "/" +
           str(reference, {"desiredConfig", "name"})] = str(reference, {"desiredConfig", "specHash"});
  }
  return dump_json(hashes);
}

Json new_work(const Json& addon, const std::string& ns, const std::string& name, const std::vector<Json>& manifests) {
  Json work{{"apiVersion", work::kWorkApiVersion}, {"kind", "ManifestWork"}};
  Json& metadata = at_or_make(work, {"metadata"});
  metadata = Json{{"name", name}, {"namespace", ns}, {"labels", Json::object({{api::kAddonNameLabel, name_of(addon)}})}};
  if (ns == namespace_of(addon)) {
    metadata["ownerReferences"] = Json::array({Json{{"apiVersion", std::string(kGroup) + "/v1beta1"},
                                                    {"kind", "ManagedClusterAddOn"},
                                                    {"name", name_of(addon)},
                                                    {"uid", uid_of(addon)},
                                                    {"controller", true},
                                                    {"blockOwnerDeletion", true}}});
  } else {
    metadata["labels"][std::string(kAddonNamespaceLabel)] = namespace_of(addon);
  }
  work["spec"] = Json::object({{"workload", Json::object({{"manifests", manifests}})}});
  return work;
}

void keep_spec_as_hash(Json& work) {
  at_or_make(work, {"metadata", kSpecHash}) = spec_hash(work);
  if (Json* configs = const_cast<Json*>(find(work, {"spec", "manifestConfigs"}))) *configs = Json::array();
  Json* manifests = const_cast<Json*>(find(work, {"spec", "workload", "manifests"}));
  if (manifests == nullptr || !manifests->is_array()) return;
  for (Json& manifest : *manifests) {
    Json kept{{"apiVersion", str(manifest, {"apiVersion"})}, {"kind", str(manifest, {"kind"})}};
    kept["metadata"] = {{"name", name_of(manifest)}, {"namespace", namespace_of(manifest)}};
    if (const Json* replicas = find(manifest, {"spec", "replicas"})) kept["spec"]["replicas"] = *replicas;
    manifest = std::move(kept);
  }
}

Json updated_work(const Json& current, const Json& wanted) {
  const bool keeps_spec = same_spec(current, wanted);
  bool same = keeps_spec;
  for (const char* member : {"labels", "annotations"}) {
    same = same && object_at(current, {"metadata", member}) == object_at(wanted, {"metadata", member});
  }
  same = same && list_at(current, {"metadata", "ownerReferences"}) == list_at(wanted, {"metadata", "ownerReferences"});
  if (same) return {};
  Json updated = current;
  Json& metadata = at_or_make(updated, {"metadata"});
  const bool hashed = metadata.erase(std::string(kSpecHash)) > 0;
  for (const char* member : {"labels", "annotations", "ownerReferences"}) {
    metadata.erase(member);
    if (const Json* value = find(wanted, {"metadata", member})) metadata[member] = *value;
  }
  if (!(hashed && keeps_spec)) updated["spec"] = object_at(wanted, {"spec"});
  return updated;
}

}  // namespace fleetadm::addon
