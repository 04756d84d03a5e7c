#include "core/sandbox/quota/admission.h"

#include <optional>

#include "core/sandbox/quota/limits.h"
#include "core/sandbox/quota/usage.h"

namespace fleetadm::sandbox::quota {
namespace {

/// What of a write is new to quotas; nothing where quotas do not look at it.
std::optional<Amounts> added_by(const Admission& write, Instant now) {
  if (write.object == nullptr || write.ns.empty() || !write.options.subresource.empty() || !write.options.admitted_as.empty())
    return std::nullopt;
  auto usage = usage_of(write.kind, *write.object, now);
  if (write.operation == "CREATE") return usage;
  if (write.operation != "UPDATE" || write.old == nullptr) return std::nullopt;
  if (!update_counts(write.kind, *write.object, *write.old)) return std::nullopt;
  return usage;
}

/// The part of `usage` that the state before did not have.
Amounts increase(Amounts usage, const Amounts& before) {
  for (auto& [name, amount] : usage) {
    const auto had = before.find(name);
    if (had == before.end()) continue;
    if (amount.compare(had->second) <= 0) {
      amount = Quantity::from_int(0);
    } else {
      amount -= had->second;
    }
  }
  return usage;
}

void drop_zeros(Amounts& amounts) {
  std::erase_if(amounts, [](const auto& one) { return one.second.is_zero(); });
}

/// What the write takes of the quota; nothing where it is none of its business.
ApiResult<Amounts> taken_of(const Json& quota, const Admission& write, const Amounts& usage, Instant now) {
  const auto refused = [&](const std::string& why) { return forbidden(write.kind, write.name, why); };
  const auto hard = amounts_of(object_at(quota, {"status", "hard"}));
  const auto used = amounts_of(object_at(quota, {"status", "used"}));
  Amounts restricted;
  for (const auto& [name, amount] : hard) {
    if (counts_for(write.kind, name)) restricted.emplace(name, amount);
  }
  if (restricted.empty() || !in_scopes(quota, write.kind, *write.object)) return Amounts();
  if (write.kind.storage == "/pods") {
    if (const auto missing = unspecified(*write.object, restricted); !missing.empty())
      return refused("failed quota: " + name_of(quota) + ": " + missing);
  }
  if (masked(restricted, used).size() != restricted.size()) {
    std::string names;
    for (const auto& [name, amount] : restricted) names += (names.empty() ? "" : ",") + name;
    return refused("status unknown for quota: " + name_of(quota) + ", resources: " + names);
  }
  Amounts more = usage;
  if (write.old != nullptr && in_scopes(quota, write.kind, *write.old))
    more = increase(std::move(more), usage_of(write.kind, *write.old, now));
  more = masked(more, hard);
  drop_zeros(more);
  Amounts exceeded;
  for (const auto& [name, amount] : more) {
    Quantity after = used.contains(name) ? used.at(name) : Quantity();
    after += amount;
    if (after.compare(hard.at(name)) > 0) exceeded.emplace(name, amount);
  }
  if (!exceeded.empty()) {
    return refused("exceeded quota: " + name_of(quota) + ", requested: " + to_text(exceeded) +
                   ", used: " + to_text(masked(used, exceeded)) + ", limited: " + to_text(masked(hard, exceeded)));
  }
  return more;
}

/// The quota's new state, with that taken.
Json charged(const Json& quota, const Amounts& more) {
  auto used = amounts_of(object_at(quota, {"status", "used"}));
  for (const auto& [name, amount] : more) used[name] += amount;
  Json next = quota;
  at_or_make(next, {"status", "used"}) = to_json(used);
  return next;
}

ApiStatus check_limit_ranges(Engine& engine, const Admission& write) {
  const bool claim = write.kind.storage == "/persistentvolumeclaims";
  const bool looked_at = (write.operation == "CREATE" && write.kind.storage == "/pods") ||
                         (claim && write.operation != "DELETE" && write.options.subresource.empty());
  if (!looked_at || write.object == nullptr || engine.store().count("/limitranges", write.ns) == 0) return {};
  for (const Json& range : engine.list(*engine.kinds().find("", "v1", "limitranges"), write.ns)) {
    if (const auto why = limit_violation(range, write.kind, *write.object); !why.empty())
      return forbidden(write.kind, write.name, why);
  }
  return {};
}

}  // namespace

ApiStatus admit(Engine& engine, PendingWrites& pending, const Admission& write) {
  FLEETADM_CHECK(check_limit_ranges(engine, write));
  if (write.ns.empty() || engine.store().count("/resourcequotas", write.ns) == 0) return {};
  const auto now = engine.clock().now();
  const auto usage = added_by(write, now);
  if (!usage) return {};
  const auto kind = engine.kinds().find("", "v1", "resourcequotas");
  WriteOptions by;
  by.user.name = "system:apiserver";
  by.manager = "kube-apiserver";
  by.subresource = "status";
  by.internal = true;
  by.dry_run = write.options.dry_run;
  const PendingWrites::Write key{write.ns, write.kind.storage, write.name};
  for (const Json& one : engine.list(*kind, write.ns)) {
    const auto charge = [&](const Json* quota) -> ApiResult<Json> {
      FLEETADM_TRY(Amounts more, taken_of(*quota, write, *usage, now));
      if (more.empty()) return *quota;
      Json next = charged(*quota, more);
      if (!by.dry_run) pending.charge(key, name_of(one), std::move(more));
      return next;
    };
    auto done = engine.modify(*kind, write.ns, name_of(one), by, false, charge);
    if (done || done.error().code == 404) continue;
    pending.done(key);
    return tl::unexpected(std::move(done).error());
  }
  return {};
}

}  // namespace fleetadm::sandbox::quota
