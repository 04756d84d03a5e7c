#include "core/sandbox/validation/update_rules.h"

#include <algorithm>
#include <set>
#include <string>

#include "core/apimachinery/defaults.h"
#include "core/sandbox/validation/update_checks.h"
#include "kubeclient/base/quantity.h"

namespace fleetadm::sandbox {
namespace {

/// A field that may not change: `member` of `parent`, or of the object where that is empty.
struct KeptField {
  std::string_view parent;
  std::string_view member;
  std::string_view told = {};  // as which it is told; empty: as what it is
};

void keep_same(const Json& object, const Json& old, const KeptField& field, Problems& out) {
  const auto value_in = [&](const Json& one) {
    return field.parent.empty() ? value_or_null(one, {field.member}) : value_or_null(one, {field.parent, field.member});
  };
  const Json now = value_in(object);
  if (now == value_in(old)) return;
  std::string name(field.told);
  if (name.empty()) name = (field.parent.empty() ? "" : std::string(field.parent) + ".") + std::string(field.member);
  out.push_back(bad_value(std::move(name), now, kImmutable));
}

// --- workloads ---

/// The old template with what a job that never ran may still be told about where its pods go.
Json with_scheduling_of(Json before, const Json& now) {
  if (find(now, {"spec", "affinity"}) != nullptr && find(before, {"spec", "affinity"}) == nullptr)
    at_or_make(before, {"spec", "affinity"}) = Json::object();
  take_member(now, before, {"spec", "affinity", "nodeAffinity"});
  if (find(now, {"spec", "affinity"}) == nullptr && object_at(before, {"spec", "affinity"}).empty())
    erase_at(before, {"spec", "affinity"});
  take_member(now, before, {"spec", "nodeSelector"});
  take_member(now, before, {"spec", "tolerations"});
  take_member(now, before, {"spec", "schedulingGates"});
  take_member(now, before, {"metadata", "annotations"});
  take_member(now, before, {"metadata", "labels"});
  return before;
}

Problems job_update(const Json& job, const Json& old) {
  Problems out;
  if (str(job, {"spec", "completionMode"}) != "Indexed") {
    keep_same(job, old, {"spec", "completions"}, out);
  } else if (const Json* wanted = find(job, {"spec", "completions"}); wanted != nullptr &&
                                                                      *wanted != value_or_null(old, {"spec", "completions"}) &&
                                                                      *wanted != value_or_null(job, {"spec", "parallelism"})) {
    out.push_back(bad_value("spec.completions", *wanted, "can only be modified in tandem with spec.parallelism"));
  }
  keep_same(job, old, {"spec", "selector"}, out);
  const Json& now = object_at(job, {"spec", "template"});
  Json before = object_at(old, {"spec", "template"});
  if (flag(old, {"spec", "suspend"}) && find(old, {"status", "startTime"}) == nullptr)
    before = with_scheduling_of(std::move(before), now);
  if (now != before) out.push_back(bad_value("spec.template", now, kImmutable));
  return out;
}

Problems stateful_set_update(const Json& set, const Json& old) {
  Json spec = object_at(set, {"spec"});
  const Json& before = object_at(old, {"spec"});
  for (const char* field : {"replicas", "template", "updateStrategy", "minReadySeconds", "ordinals", "revisionHistoryLimit",
                            "persistentVolumeClaimRetentionPolicy"}) {
    take_member(before, spec, {field});
  }
  if (spec == before) return {};
  return {forbidden_field("spec",
                          "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
                          "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
                          "'minReadySeconds' are forbidden")};
}

// --- services ---

bool is_headless(const Json& service) { return str(service, {"spec", "clusterIP"}) == "None"; }

/// A list of which the first may not change, and others only come and go with the policy.
void check_address_list(const Json& service, const Json& old, const char* list, const char* what, Problems& out) {
  const auto now = string_list_at(service, {"spec", list});
  const auto before = string_list_at(old, {"spec", list});
  const auto field = "spec." + std::string(list);
  if (now.size() == before.size()) {
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i] != before[i]) out.push_back(bad_value(field + "[" + std::to_string(i) + "]", now, "may not change once set"));
    }
    return;
  }
  if (now.empty()) {
    out.push_back(bad_value(field + "[0]", Json(), "primary " + std::string(what) + " can not be unset"));
    return;
  }
  if (!before.empty() && now.front() != before.front()) out.push_back(bad_value(field + "[0]", now, "may not change once set"));
  if (now.size() == 1 && before.size() > 1 && str(service, {"spec", "ipFamilyPolicy"}) != "SingleStack") {
    out.push_back(bad_value("spec.ipFamilyPolicy", value_or_null(service, {"spec", "ipFamilyPolicy"}),
                            "must be set to 'SingleStack' when releasing the secondary " + std::string(what)));
  }
}

Problems service_update(const Json& service, const Json& old) {
  Problems out;
  const auto type = str(service, {"spec", "type"});
  const auto type_before = str(old, {"spec", "type"});
  if (type != "ExternalName" && type_before != "ExternalName") {
    const bool headless = is_headless(service);
    const bool was_headless = is_headless(old);
    if (!headless || !was_headless) check_address_list(service, old, "clusterIPs", "clusterIP", out);
    if (!headless && !was_headless) check_address_list(service, old, "ipFamilies", "ipFamily", out);
  }
  const Json* balancer = find(service, {"spec", "loadBalancerClass"});
  if (type == "LoadBalancer" && type_before == "LoadBalancer") {
    if (value_or_null(service, {"spec", "loadBalancerClass"}) != value_or_null(old, {"spec", "loadBalancerClass"}))
      out.push_back(
          bad_value("spec.loadBalancerClass", value_or_null(service, {"spec", "loadBalancerClass"}), "may not change once set"));
  } else if (type != "LoadBalancer" && balancer != nullptr) {
    out.push_back(forbidden_field("spec.loadBalancerClass", "may only be used when `type` is 'LoadBalancer'"));
  }
  return out;
}

// --- volumes and classes ---

Problems claim_update(const Json& claim, const Json& old) {
  Problems out;
  Json spec = object_at(claim, {"spec"});
  Json before = object_at(old, {"spec"});
  if (str(before, {"volumeName"}).empty()) take_member(spec, before, {"volumeName"});
  if (find(before, {"storageClassName"}) == nullptr && !str(spec, {"storageClassName"}).empty() &&
      annotation_of(old, "volume.beta.kubernetes.io/storage-class").empty())
    take_member(before, spec, {"storageClassName"});  // a default class that came later
  if (str(claim, {"status", "phase"}) == "Bound") {
    take_member(before, spec, {"resources", "requests", "storage"});
    take_member(before, spec, {"volumeAttributesClassName"});
  }
  if (spec != before) {
    out.push_back(forbidden_field(
        "spec", "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims" +
                    changed_members(before, spec)));
  }
  const auto now = Quantity::parse(str(claim, {"spec", "resources", "requests", "storage"}));
  const auto had = Quantity::parse(str(old, {"spec", "resources", "requests", "storage"}));
  const auto there = Quantity::parse(str(old, {"status", "capacity", "storage"}, "0"));
  if (now && had && now->compare(*had) < 0 && (!there || now->compare(*there) <= 0))
    out.push_back(forbidden_field("spec.resources.requests.storage", "field can not be less than status.capacity"));
  return out;
}

Json volume_source(const Json& volume) {
  Json out = object_at(volume, {"spec"});
  for (const char* field : {"capacity", "accessModes", "claimRef", "persistentVolumeReclaimPolicy", "storageClassName",
                            "mountOptions", "volumeMode", "nodeAffinity", "volumeAttributesClassName"}) {
    out.erase(field);
  }
  return out;
}

Problems volume_update(const Json& volume, const Json& old) {
  Problems out;
  Json now = volume_source(volume);
  const Json before = volume_source(old);
  if (find(before, {"csi"}) != nullptr && find(before, {"csi", "controllerExpandSecretRef"}) == nullptr)
    erase_at(now, {"csi", "controllerExpandSecretRef"});
  if (now != before) {
    out.push_back(forbidden_field("spec.persistentvolumesource",
                                  "spec.persistentvolumesource is immutable after creation" + changed_members(before, now)));
  }
  return out;
}

Problems storage_class_update(const Json& one, const Json& old) {
  Problems out;
  for (const char* field : {"parameters", "provisioner", "reclaimPolicy"}) {
    if (value_or_null(one, {field}) != value_or_null(old, {field}))
      out.push_back(forbidden_field(field, "updates to " + std::string(field) + " are forbidden."));
  }
  return out;
}

Problems priority_class_update(const Json& one, const Json& old) {
  if (num(one, {"value"}) == num(old, {"value"})) return {};
  return {forbidden_field("value", "may not be changed in an update.")};
}

// --- the rest ---

Problems node_update(const Json& node, const Json& old) {
  Problems out;
  if (!list_at(old, {"spec", "podCIDRs"}).empty() && list_at(node, {"spec", "podCIDRs"}) != list_at(old, {"spec", "podCIDRs"}))
    out.push_back(forbidden_field("spec.podCIDRs", "node updates may not change podCIDR except from \"\" to valid"));
  const auto provider = str(old, {"spec", "providerID"});
  if (!provider.empty() && provider != str(node, {"spec", "providerID"}))
    out.push_back(forbidden_field("spec.providerID", "node updates may not change providerID except from \"\" to valid"));
  return out;
}

Problems quota_update(const Json& quota, const Json& old) {
  const auto now = string_list_at(quota, {"spec", "scopes"});
  const auto before = string_list_at(old, {"spec", "scopes"});
  if (std::set<std::string>(now.begin(), now.end()) == std::set<std::string>(before.begin(), before.end())) return {};
  return {bad_value("spec.scopes", value_or_null(quota, {"spec", "scopes"}), kImmutable)};
}

/// What the updates of a resource are checked for: what it says itself, then the fields that may not change at all.
struct UpdateRule {
  std::string_view storage;
  Problems (*own)(const Json& object, const Json& old) = nullptr;
  std::vector<KeptField> kept = {};
  bool plain = false;  // there are no other rules for the resource
};

const std::vector<UpdateRule>& update_rules() {
  static const std::vector<KeptField> selector = {{"spec", "selector"}};
  static const std::vector<KeptField> volume_mode = {{"spec", "volumeMode", "volumeMode"}};
  static const std::vector<UpdateRule> all = {
      {"batch/jobs",
       job_update,
       {{"spec", "completionMode"},
        {"spec", "podFailurePolicy"},
        {"spec", "backoffLimitPerIndex"},
        {"spec", "managedBy"},
        {"spec", "successPolicy"}}},
      {"apps/deployments", nullptr, selector},
      {"apps/replicasets", nullptr, selector},
      {"apps/daemonsets", nullptr, selector},
      {"apps/statefulsets", stateful_set_update},
      {"/pods", pod_update},
      {"/services", service_update},
      {"apps/controllerrevisions", nullptr, {{"", "data"}}, true},
      {"/persistentvolumeclaims", claim_update, volume_mode, true},
      {"/persistentvolumes", volume_update, volume_mode, true},
      {"/nodes", node_update, {}, true},
      {"/resourcequotas", quota_update, {}, true},
      {"storage.k8s.io/storageclasses", storage_class_update, {{"", "volumeBindingMode"}}, true},
      {"storage.k8s.io/csidrivers",
       nullptr,
       {{"spec", "attachRequired", "spec.attachedRequired"}, {"spec", "volumeLifecycleModes"}},
       true},
      {"storage.k8s.io/csistoragecapacities", nullptr, {{"", "nodeTopology"}, {"", "storageClassName"}}, true},
      {"storage.k8s.io/volumeattachments", nullptr, {{"", "spec"}}, true},
      {"scheduling.k8s.io/priorityclasses", priority_class_update, {{"", "preemptionPolicy"}}, true},
      {"discovery.k8s.io/endpointslices", nullptr, {{"", "addressType"}}, true},
      {"node.k8s.io/runtimeclasses", nullptr, {{"", "handler"}}, true},
      {"networking.k8s.io/ingressclasses", nullptr, {{"spec", "controller"}}, true},
  };
  return all;
}

Problems problems_by(const UpdateRule& rule, const Json& object, const Json& old) {
  Problems out;
  if (rule.own != nullptr) out = rule.own(object, old);
  for (const KeptField& field : rule.kept) keep_same(object, old, field, out);
  return out;
}

}  // namespace

std::vector<Cause> update_problems(const Kind& kind, const Json& object, const Json& old) {
  const auto& rules = update_rules();
  const auto rule = std::find_if(rules.begin(), rules.end(), [&](const auto& one) { return one.storage == kind.storage; });
  if (rule == rules.end()) return {};
  auto problems = problems_by(*rule, object, old);
  if (problems.empty()) return problems;
  Json filled = old;  // what was stored by an older version may lack a default that this one fills in
  apimachinery::apply_defaults(filled);
  return filled == old ? problems : problems_by(*rule, object, filled);
}

std::vector<std::string> plainly_immutable() {
  std::vector<std::string> out;
  for (const UpdateRule& rule : update_rules()) {
    if (rule.plain) out.emplace_back(rule.storage);
  }
  return out;
}

}  // namespace fleetadm::sandbox
