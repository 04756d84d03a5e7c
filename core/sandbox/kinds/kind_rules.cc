#include "core/sandbox/kinds/kind_rules.h"

#include <set>

#include "core/sandbox/kinds/kind_steps.h"
#include "core/sandbox/validation/update_rules.h"

namespace fleetadm::sandbox {
namespace {

// --- namespaces ---

void default_namespace(Json& ns) {
  at_or_make(ns, {"metadata", "labels", "kubernetes.io/metadata.name"}) = name_of(ns);
  if (str(ns, {"status", "phase"}).empty()) at_or_make(ns, {"status", "phase"}) = is_deleting(ns) ? "Terminating" : "Active";
}

Strategy namespace_strategy() {
  Strategy out;
  out.defaults = default_namespace;
  out.status_writes_owners = true;
  out.is_held = [](const Json& ns) { return !list_at(ns, {"spec", "finalizers"}).empty(); };
  out.after_marked = [](Json& ns) {
    erase_at(ns, {"metadata", "deletionGracePeriodSeconds"});  // which namespaces do not have
    at_or_make(ns, {"status", "phase"}) = "Terminating";
  };
  out.create = [](const StrategyContext&, Json& ns) -> ApiStatus {
    at_or_make(ns, {"spec", "finalizers"}) = {"kubernetes"};
    ns["status"] = {{"phase", "Active"}};
    return {};
  };
  out.update = [](const StrategyContext& context, Json& ns, const Json& old) -> ApiStatus {
    // spec.finalizers only change through /finalize.
    if (context.options.subresource != "finalize") {
      if (const Json* spec = find(old, {"spec"})) ns["spec"] = *spec;
    }
    if (context.options.subresource != "status") {
      if (const Json* status = find(old, {"status"})) ns["status"] = *status;
    }
    return {};
  };
  out.remove = [](const StrategyContext& context, const Json& ns) -> ApiStatus {
    static const std::set<std::string> kKept = {"default", "kube-system", "kube-public"};
    if (kKept.contains(name_of(ns))) return forbidden(context.kind, name_of(ns), "this namespace may not be deleted");
    return {};
  };
  return out;
}

// --- leases ---

ApiStatus check_lease(const StrategyContext& context, Json& lease) {
  for (const char* field : {"acquireTime", "renewTime"}) {
    const auto text = str(lease, {"spec", field});
    if (text.empty()) continue;
    const auto at = parse_time(text);
    if (!at) return bad_request("Lease in version \"v1\" cannot be handled as a Lease: parsing time " + dump_json(Json(text)));
    at_or_make(lease, {"spec", field}) = format_micro_time(*at);
  }
  std::vector<Cause> causes;
  if (const Json* seconds = find(lease, {"spec", "leaseDurationSeconds"});
      seconds != nullptr && seconds->is_number() && num(lease, {"spec", "leaseDurationSeconds"}) <= 0) {
    causes.push_back(bad_value("spec.leaseDurationSeconds", *seconds, "must be greater than 0"));
  }
  if (num(lease, {"spec", "leaseTransitions"}) < 0)
    causes.push_back(
        bad_value("spec.leaseTransitions", num(lease, {"spec", "leaseTransitions"}), "must be greater than or equal to 0"));
  if (!causes.empty()) return invalid(context.kind, name_of(lease), causes);
  return {};
}

Strategy lease_strategy() {
  Strategy out;
  out.create = check_lease;
  out.update = [](const StrategyContext& context, Json& lease, const Json&) { return check_lease(context, lease); };
  return out;
}

/// Names and values of the system's own classes are not for others.
ApiStatus check_new_priority_class(const StrategyContext& context, Json& one) {
  constexpr std::int64_t kHighest = 1'000'000'000;
  if (context.options.internal) return {};
  std::vector<Cause> causes;
  if (name_of(one).starts_with("system-")) {
    causes.push_back(forbidden_field(
        "metadata.name", "priority class names with 'system-' prefix are reserved for system use only. error: " + name_of(one) +
                             " is not a known system priority class"));
  } else if (num(one, {"value"}) > kHighest) {
    causes.push_back(forbidden_field("value", "maximum allowed value of a user defined priority is " + std::to_string(kHighest)));
  }
  if (causes.empty()) return {};
  return invalid(context.kind, name_of(one), causes);
}

/// Since when a volume has its phase.
void note_volume_phase(const StrategyContext& context, Json& volume, const Json* old) {
  if (old == nullptr) at_or_make(volume, {"status", "phase"}) = "Pending";
  if (old == nullptr || str(volume, {"status", "phase"}) != str(*old, {"status", "phase"}))
    at_or_make(volume, {"status", "lastPhaseTransitionTime"}) = format_time(context.now);
}

/// Of kinds that have nothing of their own but fields that stay.
Strategy immutable_strategy() {
  Strategy out;
  out.update = [](const StrategyContext& context, Json& object, const Json& old) { return check_update(context, object, old); };
  return out;
}

Strategy priority_class_strategy() {
  Strategy out = immutable_strategy();
  out.create = check_new_priority_class;
  return out;
}

Strategy volume_strategy() {
  Strategy out;
  out.create = [](const StrategyContext& context, Json& volume) -> ApiStatus {
    note_volume_phase(context, volume, nullptr);
    return {};
  };
  out.update = [](const StrategyContext& context, Json& volume, const Json& old) -> ApiStatus {
    note_volume_phase(context, volume, &old);
    return check_update(context, volume, old);
  };
  return out;
}

}  // namespace

ApiStatus check_update(const StrategyContext& context, const Json& object, const Json& old) {
  const auto problems = update_problems(context.kind, object, old);
  if (problems.empty()) return {};
  return invalid(context.kind, name_of(object), problems);
}

void set_kind_strategies(Engine& engine) {
  engine.set_strategy("/namespaces", namespace_strategy());
  engine.set_strategy("/configmaps", config_map_strategy());
  engine.set_strategy("/secrets", secret_strategy());
  engine.set_strategy("coordination.k8s.io/leases", lease_strategy());
  engine.set_strategy("/pods", pod_strategy());
  engine.set_strategy("/services", service_strategy());
  set_workload_strategies(engine);
  for (const auto& storage : plainly_immutable()) engine.set_strategy(storage, immutable_strategy());
  engine.set_strategy("scheduling.k8s.io/priorityclasses", priority_class_strategy());
  engine.set_strategy("/persistentvolumes", volume_strategy());
}

}  // namespace fleetadm::sandbox
