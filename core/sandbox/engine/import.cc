#include "core/apimachinery/managed_fields.h"
#include "core/sandbox/engine/write_steps.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox {
namespace {

constexpr int kMaxImportRaces = 8;

/// The other server did not say how often the object's wishes changed.
bool lacks_generation(const Json& next, const Json& old) {
  return find(next, {"metadata", "generation"}) == nullptr && find(old, {"metadata", "generation"}) != nullptr;
}

}  // namespace

ApiResult<Written> Engine::import_object(const Kind& kind, Json object, const WriteOptions& options) {
  const auto name = name_of(object);
  const auto ns = kind.namespaced ? namespace_of(object) : std::string();
  for (const char* field : {"resourceVersion", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"})
    erase_at(object, {"metadata", field});
  if (!kind.namespaced) erase_at(object, {"metadata", "namespace"});
  const bool tracked = !list_at(object, {"metadata", "managedFields"}).empty();
  const Strategy& own = strategy(kind);
  for (int i = 0; i < kMaxImportRaces; ++i) {
    FLEETADM_CHECK(check_namespace(kind, ns, name));
    const auto stored = store_.get(kind.storage, ns, name);
    Json next = object;
    const auto now = clock_->now();
    const StrategyContext context{*this, kind, options, now};
    Json old;
    if (stored) {
      FLEETADM_TRY(old, read(kind, *stored));
      if (is_deleting(old)) return already_exists(kind, name, true);
      for (const char* field : {"uid", "creationTimestamp", "resourceVersion"})
        at_or_make(next, {"metadata", field}) = str(old, {"metadata", field});
      // What this cluster's controllers have added, where the other had nothing of the kind.
      if (find(next, {"metadata", "finalizers"}) == nullptr && find(old, {"metadata", "finalizers"}) != nullptr)
        at_or_make(next, {"metadata", "finalizers"}) = list_at(old, {"metadata", "finalizers"});
      if (find(next, {"status"}) == nullptr && find(old, {"status"}) != nullptr) next["status"] = object_at(old, {"status"});
      if (lacks_generation(next, old)) at_or_make(next, {"metadata", "generation"}) = num(old, {"metadata", "generation"});
    } else {
      if (str(next, {"metadata", "creationTimestamp"}).empty())
        at_or_make(next, {"metadata", "creationTimestamp"}) = format_time(now);
      if (uid_of(next).empty()) at_or_make(next, {"metadata", "uid"}) = random_uuid();
    }
    fill_defaults(kind, own, next);
    if (kind.custom != nullptr)
      FLEETADM_CHECK(stored ? check_custom_update(kind, next, old, "") : check_custom_create(kind, next));
    if (const auto problems = metadata_problems(kind, next); !problems.empty()) return invalid(kind, name, problems);
    if (own.validates_imports) FLEETADM_CHECK(stored ? own.update(context, next, old) : own.create(context, next));
    if (tracker_ && !tracked) tracker_(kind, stored ? &old : nullptr, next, options, now);
    if (stored && apimachinery::same_but_times(next, old)) return Written{old, false, false, {}};
    bool raced = false;
    auto written = put(kind, ns, name, stored ? stored->revision : 0, std::move(next), false, options.dry_run, raced);
    if (raced) continue;
    if (!written) return tl::unexpected(std::move(written).error());
    return Written{std::move(*written), !stored, false, {}};
  }
  return modified_meanwhile(kind, name);
}

}  // namespace fleetadm::sandbox
