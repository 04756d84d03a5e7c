#include <algorithm>

#include "core/sandbox/engine/custom.h"
#include "core/sandbox/engine/write_steps.h"

namespace fleetadm::sandbox {
namespace {

/// The object has to be the one that the client means.
ApiStatus check_preconditions(const Kind& kind, const DeleteOptions& options, const Json& old) {
  Kind named = kind;
  named.plural = kind.kind;
  if (!options.uid.empty() && options.uid != uid_of(old)) {
    return modified_meanwhile(named, name_of(old),
                              "the UID in the precondition (" + options.uid + ") does not match the UID in record (" +
                                  uid_of(old) + "). The object might have been deleted and then recreated");
  }
  if (!options.resource_version.empty() && options.resource_version != resource_version_of(old)) {
    return modified_meanwhile(named, name_of(old),
                              "the ResourceVersion in the precondition (" + options.resource_version +
                                  ") does not match the ResourceVersion in record (" + resource_version_of(old) +
                                  "). The object might have been modified");
  }
  return {};
}

/// The finalizers that say what becomes of the objects that this one owns.
void set_propagation(const std::string& policy, Json& object) {
  auto finalizers = string_list_at(object, {"metadata", "finalizers"});
  std::erase_if(finalizers, [](const std::string& one) { return one == "orphan" || one == "foregroundDeletion"; });
  if (policy == "Orphan") finalizers.emplace_back("orphan");
  if (policy == "Foreground") finalizers.emplace_back("foregroundDeletion");
  if (finalizers.empty()) {
    erase_at(object, {"metadata", "finalizers"});
  } else {
    at_or_make(object, {"metadata", "finalizers"}) = finalizers;
  }
}

std::int64_t grace_of(const Strategy& own, const DeleteOptions& options, const Json& old) {
  if (!own.grace_seconds) return 0;
  const auto grace = own.grace_seconds(old, options.grace_seconds);
  return is_deleting(old) ? std::min(grace, num(old, {"metadata", "deletionGracePeriodSeconds"})) : grace;
}

bool is_held(const Strategy& own, const Json& object) {
  return !list_at(object, {"metadata", "finalizers"}).empty() || (own.is_held && own.is_held(object));
}

/// Once an object is being deleted, only a shorter grace period changes when.
void mark_deleting(const Strategy& own, const Json& old, std::int64_t grace, Instant now, Json& object) {
  if (is_deleting(old) && grace >= num(old, {"metadata", "deletionGracePeriodSeconds"})) return;
  at_or_make(object, {"metadata", "deletionTimestamp"}) = format_time(now + std::chrono::seconds(grace));
  at_or_make(object, {"metadata", "deletionGracePeriodSeconds"}) = grace;
  if (const auto generation = num(object, {"metadata", "generation"}); generation > 0 && !is_deleting(old))
    at_or_make(object, {"metadata", "generation"}) = generation + 1;
  if (own.after_marked) own.after_marked(object);
}

}  // namespace

ApiResult<Written> Engine::remove(const Kind& asked, const std::string& ns, const std::string& name, const DeleteOptions& options,
                                  const WriteOptions& by) {
  for (int i = 0; i < kMaxRaces; ++i) {
    const auto stored = store_.get(asked.storage, ns, name);
    if (!stored) return not_found(asked, name);
    const KindPtr other = row_for(asked, *stored, by);
    const Kind& kind = other ? *other : asked;
    FLEETADM_TRY(const Json old, read(kind, *stored));
    FLEETADM_CHECK(check_preconditions(kind, options, old));
    const auto now = clock_->now();
    const Strategy& own = strategy(kind);
    if (own.remove) FLEETADM_CHECK(own.remove(StrategyContext{*this, kind, by, now}, old));
    std::vector<std::string> warnings;
    FLEETADM_CHECK(admit({kind, "DELETE", ns, name, false, nullptr, &old, by}, warnings));
    Json object = old;
    if (own.before_removal && !is_deleting(old)) own.before_removal(object);
    const bool orphans = options.propagation.empty() && kind.orphans_by_default && !is_deleting(old);
    if (const auto policy = orphans ? std::string("Orphan") : options.propagation; !policy.empty())
      set_propagation(policy, object);
    const auto grace = grace_of(own, options, old);
    bool raced = false;
    if (grace <= 0 && !is_held(own, object)) {
      // What goes need not be converted to be seen once more.
      auto gone = converter_of(kind) != nullptr
                      ? put_converted(kind, ns, name, stored->revision, std::move(object), as_stored(kind, *stored), true,
                                      options.dry_run, raced)
                      : put(kind, ns, name, stored->revision, std::move(object), true, options.dry_run, raced);
      if (raced) continue;
      if (!gone) return tl::unexpected(std::move(gone).error());
      return Written{std::move(*gone), false, true, std::move(warnings)};
    }
    mark_deleting(own, old, grace, now, object);
    if (object == old) return Written{std::move(object), false, false, std::move(warnings)};
    auto written = put(kind, ns, name, stored->revision, std::move(object), false, options.dry_run, raced);
    if (raced) continue;
    if (!written) return tl::unexpected(std::move(written).error());
    return Written{std::move(*written), false, false, std::move(warnings)};
  }
  return modified_meanwhile(asked, name);
}

}  // namespace fleetadm::sandbox
