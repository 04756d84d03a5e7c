// ResourceQuotas: what their namespace uses.
#include <algorithm>
#include <set>

#include "core/sandbox/controllers/controller.h"
#include "core/sandbox/quota/usage.h"

namespace fleetadm::sandbox {
namespace {

constexpr auto kQuotaRetry = std::chrono::seconds(1);  // of one that was written while its objects were counted

quota::Amounts used_of(const ControllerContext& context, const Json& one, const quota::Amounts& hard) {
  quota::Amounts used;
  for (const auto& [name, amount] : hard) used.emplace(name, Quantity::from_int(0));
  const auto now = context.engine.clock().now();
  std::set<std::string> seen;
  for (const auto& kind : context.engine.kinds().all()) {
    if (!kind->namespaced || !kind->has_verb("list") || seen.contains(kind->storage)) continue;
    const bool counted =
        std::any_of(hard.begin(), hard.end(), [&](const auto& entry) { return quota::counts_for(*kind, entry.first); });
    if (!counted) continue;
    seen.insert(kind->storage);
    for (const Json& object : context.engine.list(*kind, namespace_of(one))) {
      if (!quota::in_scopes(one, *kind, object)) continue;
      for (const auto& [name, amount] : quota::masked(quota::usage_of(*kind, object, now), hard)) used[name] += amount;
    }
  }
  return used;
}

}  // namespace

void sync_resource_quota(const ControllerContext& context, const std::string& ns, const std::string& name) {
  const auto kind = kind_of(context, "", "resourcequotas");
  const auto found = context.engine.get(*kind, ns, name);
  if (!found || is_deleting(*found)) return;
  const auto hard = quota::amounts_of(object_at(*found, {"spec", "hard"}));
  // Between the quota and the objects (PendingWrites::of). What is let through from here on changes the quota: then this gives
  // up.
  const auto pending = context.pending != nullptr ? context.pending->of(ns, name) : quota::Amounts();
  auto used = used_of(context, *found, hard);
  for (const auto& [resource, amount] : quota::masked(pending, hard)) used[resource] += amount;
  const bool written = change(context, *kind, *found, as_controller("resourcequota-controller", "status"), [&](Json& next) {
    at_or_make(next, {"metadata", "resourceVersion"}) = resource_version_of(*found);
    at_or_make(next, {"status", "hard"}) = object_at(*found, {"spec", "hard"});
    at_or_make(next, {"status", "used"}) = quota::to_json(used);
  });
  if (!written) look_again_at(context, context.engine.clock().now() + kQuotaRetry);
}

}  // namespace fleetadm::sandbox
