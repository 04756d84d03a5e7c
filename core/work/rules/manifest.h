// What a ManifestWork asks for: its manifests decoded, in apply order, with the options that match each of them
// (docs/reference/work.md; docs/reference/ocm-api.md#manifestwork). Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::work {

/// One entry of spec.workload.manifests.
struct Manifest {
  int ordinal = 0;  // index in spec.workload.manifests, whatever the apply order is
  Json object;      // as written; metadata.uid dropped, metadata.namespace dropped where the type is cluster-scoped
  std::string group;
  std::string version;
  std::string kind;
  std::string ns;
  std::string name;
  std::optional<kube::Resource> resource;  // set once the kind was found on the cluster
  std::optional<Error> error;              // why it cannot be applied: not an object, no kind, unknown kind, discovery failed
  std::optional<std::size_t> same_as;      // index of the manifest that is applied in its stead (repeated.h)

  /// status.resourceStatus.manifests[].resourceMeta: all seven members, resource "" where unknown.
  Json meta() const;
  /// "configmaps default/x": for messages.
  std::string describe() const;
};

/// The resource of an (apiVersion, kind), or an error (kNotFound: the cluster has no such kind).
using Resolve = std::function<Result<kube::Resource>(const std::string& api_version, const std::string& kind)>;

/// All manifests in the order of the spec, those of one object united. Never fails as a whole: what cannot be decoded or resolved
/// carries its error.
std::vector<Manifest> decode_manifests(const Json& work, const Resolve& resolve);
/// Indexes into `manifests`, in apply order: stable by rank.
std::vector<std::size_t> apply_order(const std::vector<Manifest>& manifests);
/// The apply order cut into batches, each of at most kBatchLimit: what is in one batch needs nothing else of it and may be
/// applied side by side. Bindings follow their roles, and kinds whose needs are unknown keep the order of the spec. A manifest
/// that another one stands for is in none.
inline constexpr std::size_t kBatchLimit = 16;
std::vector<std::vector<std::size_t>> apply_batches(const std::vector<Manifest>& manifests);
/// 0 … 6, 1000 for everything else, 1001 for what has no kind.
int apply_rank(std::string_view kind);

enum class StrategyType { kUpdate, kCreateOnly, kServerSideApply, kReadOnly };

struct UpdateStrategy {
  StrategyType type = StrategyType::kUpdate;
  std::string field_manager = "work-agent";
  bool force = false;
  Json ignore_fields = Json::array();  // as in the spec
};

/// What spec.manifestConfigs says about one manifest: of each option the first matching entry that has it.
struct ManifestOptions {
  UpdateStrategy strategy;
  Json feedback_rules = Json::array();
  Json condition_rules = Json::array();
};
ManifestOptions options_for(const Json& work, const Manifest& manifest);

/// spec.deleteOption: false where the object is to stay when the work goes (and so is not owned).
bool is_owned(const Json& work, const Manifest& manifest);

/// `*` stands for any text, also empty.
bool wildcard_match(std::string_view pattern, std::string_view text);

}  // namespace fleetadm::work
