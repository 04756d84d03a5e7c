#include "core/work/plan/removals.h"

#include "core/work/plan/diff.h"
#include "core/work/plan/preview.h"

namespace fleetadm::work {

std::int64_t deleted_objects(const Json& work_spec, const std::set<std::string>& kept) {
  const Json work{{"spec", work_spec}};
  std::int64_t count = 0;
  for (const Manifest& manifest : decode_manifests(work, guessed_resource)) {
    if (manifest.same_as) continue;
    const bool stays = kept.contains(manifest_identity(manifest.object)) || !is_owned(work, manifest) ||
                       options_for(work, manifest).strategy.type == StrategyType::kReadOnly;
    if (!stays) ++count;
  }
  return count;
}

}  // namespace fleetadm::work
