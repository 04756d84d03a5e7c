// An add-on's manifests as works that stay below the size that an API server takes (docs/reference/addon.md#works).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/addon/rules/object_reader.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

/// Bytes of manifests (as JSON) in one work: four fifths of what one may have.
inline constexpr std::size_t kPackLimit = 409600;

struct PackedWork {
  std::string name;
  std::vector<Json> manifests;
  bool gives_away = false;  // a manifest leaves it for another one: to be written after the others
};

struct Packing {
  std::vector<PackedWork> works;     // those that exist in their order, then new ones
  std::vector<std::string> emptied;  // existing works that nothing is left for
};

/// A manifest that a work holds stays in it; new ones go, the biggest first, to the existing work with the most room, else into
/// new works. `name_of_index` makes the names of new works, counted from the number of existing ones.
/// kStrict: no work is made without a manifest, none takes a name that is `taken`, and what a work holds stays only as long as
/// the whole fits. An error (kStrict only): a manifest is larger than a work may be.
Result<Packing> pack_manifests(const std::vector<ObjectPtr>& existing, const std::vector<Json>& manifests,
                               const std::function<std::string(std::size_t)>& name_of_index,
                               const std::function<bool(const std::string&)>& taken, rollout::Semantics conduct);

}  // namespace fleetadm::addon
