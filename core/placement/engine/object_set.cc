#include "core/placement/engine/object_set.h"

#include "core/api/kinds.h"
#include "core/placement/engine/decode.h"
#include "core/placement/engine/scenario.h"

namespace fleetadm::placement {
namespace {

constexpr std::array<std::string_view, kObjectKinds> kNames = {"ManagedCluster", "ManagedClusterSet", "ManagedClusterSetBinding",
                                                               "Placement",      "PlacementDecision", "AddOnPlacementScore"};

bool cluster_scoped(ObjectKind kind) { return kind == ObjectKind::kCluster || kind == ObjectKind::kSet; }

Objects::Key key_of(ObjectKind kind, std::string_view ns, std::string_view name) {
  return {cluster_scoped(kind) ? std::string() : std::string(ns), std::string(name)};
}

}  // namespace

std::optional<ObjectKind> object_kind(const Json& object) {
  if (!str(object, {"apiVersion"}).starts_with(api::managed_clusters().group + "/")) return std::nullopt;
  const std::string kind = str(object, {"kind"});
  for (std::size_t i = 0; i < kObjectKinds; ++i) {
    if (kNames[i] == kind) return static_cast<ObjectKind>(i);
  }
  return std::nullopt;
}

std::string_view kind_name(ObjectKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

void Objects::put(Json object) {
  const auto kind = object_kind(object);
  if (!kind) return;
  Key key = key_of(*kind, namespace_of(object), name_of(object));
  map(*kind).insert_or_assign(std::move(key), std::move(object));
}

bool Objects::remove(ObjectKind kind, std::string_view ns, std::string_view name) {
  return map(kind).erase(key_of(kind, ns, name)) > 0;
}

const Json* Objects::find(ObjectKind kind, std::string_view ns, std::string_view name) const {
  const auto at = of(kind).find(key_of(kind, ns, name));
  return at == of(kind).end() ? nullptr : &at->second;
}

Json* Objects::find(ObjectKind kind, std::string_view ns, std::string_view name) {
  const auto at = map(kind).find(key_of(kind, ns, name));
  return at == map(kind).end() ? nullptr : &at->second;
}

std::vector<std::string> Objects::names(ObjectKind kind, std::string_view ns) const {
  std::vector<std::string> names;
  for (const auto& [key, object] : of(kind)) {
    if (cluster_scoped(kind) || key.first == ns) names.push_back(key.second);
  }
  return names;
}

std::vector<const Json*> Objects::decisions_of(std::string_view ns, std::string_view placement) const {
  std::vector<const Json*> own;
  const Map& all = of(ObjectKind::kDecision);
  for (auto at = all.lower_bound({std::string(ns), {}}); at != all.end() && at->first.first == ns; ++at) {
    if (label_of(at->second, api::kPlacementLabel) == placement) own.push_back(&at->second);
  }
  return own;
}

FleetState Objects::world() const {
  FleetState world;
  for (const Map& map : maps_) {
    for (const auto& [key, object] : map) put_object(world, object);
  }
  return world;
}

void apply_placement_defaults(Json& placement) {
  Json* policy = nullptr;
  if (Json* spec = placement.is_object() && placement.contains("spec") ? &placement["spec"] : nullptr; spec != nullptr) {
    if (spec->is_object() && spec->contains("prioritizerPolicy")) policy = &(*spec)["prioritizerPolicy"];
  }
  if (policy == nullptr || !policy->is_object()) return;
  if (str(*policy, {"mode"}).empty()) (*policy)["mode"] = "Additive";
  if (!policy->contains("configurations") || !(*policy)["configurations"].is_array()) return;
  for (Json& entry : (*policy)["configurations"]) {
    if (!entry.is_object()) continue;
    if (!entry.contains("weight") || entry["weight"].is_null()) entry["weight"] = 1;
    if (!entry.contains("scoreCoordinate") || !entry["scoreCoordinate"].is_object()) continue;
    Json& coordinate = entry["scoreCoordinate"];
    if (str(coordinate, {"type"}).empty()) coordinate["type"] = "BuiltIn";
  }
}

}  // namespace fleetadm::placement
