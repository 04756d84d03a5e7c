#include "core/work/rules/manifest.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "core/work/rules/repeated.h"

namespace fleetadm::work {
namespace {

struct Rank {
  std::string_view kind;
  int rank;
};

constexpr int kRankOther = 1000;
constexpr int kRankUndecodable = 1001;

constexpr auto kRanks = std::to_array<Rank>({
    {"PriorityClass", 0},
    {"Namespace", 0},
    {"CustomResourceDefinition", 0},
    {"StorageClass", 0},
    {"PersistentVolume", 0},
    {"PodSecurityPolicy", 0},
    {"ClusterRole", 1},
    {"ClusterRoleBinding", 1},
    {"Role", 1},
    {"RoleBinding", 1},
    {"NetworkPolicy", 2},
    {"ResourceQuota", 2},
    {"LimitRange", 2},
    {"PodDisruptionBudget", 2},
    {"ServiceAccount", 2},
    {"Secret", 3},
    {"ConfigMap", 3},
    {"PersistentVolumeClaim", 3},
    {"Service", 4},
    {"DaemonSet", 5},
    {"Pod", 5},
    {"ReplicationController", 5},
    {"ReplicaSet", 5},
    {"Deployment", 5},
    {"HorizontalPodAutoscaler", 5},
    {"StatefulSet", 5},
    {"Job", 5},
    {"CronJob", 5},
    {"APIService", 6},
    {"MutatingWebhookConfiguration", 6},
    {"ValidatingWebhookConfiguration", 6},
    {"ValidatingAdmissionPolicy", 6},
    {"ValidatingAdmissionPolicyBinding", 6},
});

constexpr int kRankRbac = 1;
constexpr int kRankWorkloads = 5;

/// Kinds of one rank that need nothing of each other. Bindings need their roles, and what admits requests or what is unknown
/// may need anything: these keep the order of the spec.
bool is_free_rank(int rank) { return rank <= kRankWorkloads && rank != kRankRbac; }

/// Whether two manifests of one rank may be applied in any order.
bool are_independent(const Manifest& one, const Manifest& other) {
  return (one.group == other.group && one.kind == other.kind) || is_free_rank(apply_rank(one.kind));
}

bool matches(const Json& identifier, const Manifest& manifest) {
  if (!manifest.resource) return false;
  return str(identifier, {"group"}) == manifest.group && str(identifier, {"resource"}) == manifest.resource->plural &&
         wildcard_match(str(identifier, {"namespace"}), manifest.ns) && wildcard_match(str(identifier, {"name"}), manifest.name);
}

UpdateStrategy decode_strategy(const Json& entry) {
  UpdateStrategy strategy;
  const std::string type = str(entry, {"type"});
  if (type == "CreateOnly") strategy.type = StrategyType::kCreateOnly;
  if (type == "ReadOnly") strategy.type = StrategyType::kReadOnly;
  if (type == "ServerSideApply") {
    strategy.type = StrategyType::kServerSideApply;
    if (std::string manager = str(entry, {"serverSideApply", "fieldManager"}); !manager.empty()) strategy.field_manager = manager;
    strategy.force = flag(entry, {"serverSideApply", "force"});
    strategy.ignore_fields = list_at(entry, {"serverSideApply", "ignoreFields"});
  }
  return strategy;
}

Manifest decode(int ordinal, const Json& entry, const Resolve& resolve) {
  Manifest manifest;
  manifest.ordinal = ordinal;
  if (!entry.is_object()) {
    manifest.error = fail(Category::kInvalid, "the manifest is not an object").value();
    return manifest;
  }
  manifest.object = entry;
  erase_at(manifest.object, {"metadata", "uid"});
  const std::string api_version = str(entry, {"apiVersion"});
  const kube::GroupVersion gv = kube::parse_api_version(api_version);
  manifest.group = gv.group;
  manifest.version = gv.version;
  manifest.kind = str(entry, {"kind"});
  manifest.ns = namespace_of(entry);
  manifest.name = name_of(entry);
  if (api_version.empty() || manifest.kind.empty()) {
    manifest.error = fail(Category::kInvalid, "the manifest has no apiVersion or kind").value();
    return manifest;
  }
  Result<kube::Resource> resource = resolve(api_version, manifest.kind);
  if (!resource) {
    manifest.error = resource.error();
    return manifest;
  }
  manifest.resource = *resource;
  if (!resource->namespaced) {
    manifest.ns.clear();
    erase_at(manifest.object, {"metadata", "namespace"});
  }
  if (manifest.name.empty()) manifest.error = fail(Category::kInvalid, "the manifest has no metadata.name").value();
  return manifest;
}

}  // namespace

Json Manifest::meta() const {
  Json meta = Json::object();
  meta["ordinal"] = ordinal;
  meta["group"] = group;
  meta["version"] = version;
  meta["kind"] = kind;
  meta["resource"] = resource ? resource->plural : "";
  meta["namespace"] = ns;
  meta["name"] = name;
  return meta;
}

std::string Manifest::describe() const { return (resource ? resource->qualified() : kind) + " " + kube::object_key(ns, name); }

std::vector<Manifest> decode_manifests(const Json& work, const Resolve& resolve) {
  std::vector<Manifest> manifests;
  const Json& entries = list_at(work, {"spec", "workload", "manifests"});
  manifests.reserve(entries.size());
  int ordinal = 0;
  for (const Json& entry : entries) manifests.push_back(decode(ordinal++, entry, resolve));
  unite_repeated(work, manifests);
  return manifests;
}

int apply_rank(std::string_view kind) {
  if (kind.empty()) return kRankUndecodable;
  const auto* found = std::find_if(kRanks.begin(), kRanks.end(), [&](const Rank& rank) { return rank.kind == kind; });
  return found == kRanks.end() ? kRankOther : found->rank;
}

std::vector<std::size_t> apply_order(const std::vector<Manifest>& manifests) {
  std::vector<std::size_t> order(manifests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return apply_rank(manifests[a].kind) < apply_rank(manifests[b].kind); });
  return order;
}

std::vector<std::vector<std::size_t>> apply_batches(const std::vector<Manifest>& manifests) {
  std::vector<std::vector<std::size_t>> batches;
  for (const std::size_t i : apply_order(manifests)) {
    const Manifest& manifest = manifests[i];
    if (manifest.same_as) continue;
    const bool room = !batches.empty() && batches.back().size() < kBatchLimit;
    const bool fits =
        room && std::all_of(batches.back().begin(), batches.back().end(), [&](std::size_t other) {
          return apply_rank(manifests[other].kind) == apply_rank(manifest.kind) && are_independent(manifests[other], manifest);
        });
    if (fits) {
      batches.back().push_back(i);
    } else {
      batches.push_back({i});
    }
  }
  return batches;
}

ManifestOptions options_for(const Json& work, const Manifest& manifest) {
  ManifestOptions options;
  bool strategy_found = false;
  for (const Json& entry : list_at(work, {"spec", "manifestConfigs"})) {
    if (!matches(object_at(entry, {"resourceIdentifier"}), manifest)) continue;
    if (const Json* strategy = find(entry, {"updateStrategy"}); strategy != nullptr && strategy->is_object() && !strategy_found) {
      options.strategy = decode_strategy(*strategy);
      strategy_found = true;
    }
    if (options.feedback_rules.empty()) options.feedback_rules = list_at(entry, {"feedbackRules"});
    if (options.condition_rules.empty()) options.condition_rules = list_at(entry, {"conditionRules"});
  }
  return options;
}

bool is_owned(const Json& work, const Manifest& manifest) {
  const std::string policy = str(work, {"spec", "deleteOption", "propagationPolicy"});
  if (policy == "Orphan") return false;
  if (policy != "SelectivelyOrphan") return true;
  for (const Json& rule : list_at(work, {"spec", "deleteOption", "selectivelyOrphans", "orphaningRules"})) {
    if (manifest.resource && str(rule, {"group"}) == manifest.group && str(rule, {"resource"}) == manifest.resource->plural &&
        str(rule, {"namespace"}) == manifest.ns && str(rule, {"name"}) == manifest.name) {
      return false;
    }
  }
  return true;
}

bool wildcard_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace fleetadm::work
