// The objects that the scheduler reads, as they are on a hub or in files: what simulations change and explanations look at.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/placement/engine/fleet_state.h"

namespace fleetadm::placement {

enum class ObjectKind { kCluster, kSet, kBinding, kPlacement, kDecision, kScore };
inline constexpr std::size_t kObjectKinds = 6;

/// The kind of a Kubernetes object; nullopt where the scheduler does not read it (another kind, or one of another group).
std::optional<ObjectKind> object_kind(const Json& object);
std::string_view kind_name(ObjectKind kind);

/// Objects by kind, then by namespace and name, so that whatever goes over them has one order. Copies are deep.
class Objects {
 public:
  using Key = std::pair<std::string, std::string>;  // namespace (empty for cluster-scoped kinds), name
  using Map = std::map<Key, Json>;

  /// Replaces what has the same name. The object is of one of the kinds.
  void put(Json object);
  bool remove(ObjectKind kind, std::string_view ns, std::string_view name);
  /// nullptr where there is none.
  const Json* find(ObjectKind kind, std::string_view ns, std::string_view name) const;
  Json* find(ObjectKind kind, std::string_view ns, std::string_view name);
  const Map& of(ObjectKind kind) const { return maps_[static_cast<std::size_t>(kind)]; }
  std::vector<std::string> names(ObjectKind kind, std::string_view ns = {}) const;
  /// The placement's own decisions, in the order of their names.
  std::vector<const Json*> decisions_of(std::string_view ns, std::string_view placement) const;

  FleetState world() const;

 private:
  Map& map(ObjectKind kind) { return maps_[static_cast<std::size_t>(kind)]; }

  std::array<Map, kObjectKinds> maps_;
};

/// The defaults that the API server gives a Placement, for files that never were on one (docs/reference/placement.md#inputs).
void apply_placement_defaults(Json& placement);

}  // namespace fleetadm::placement
