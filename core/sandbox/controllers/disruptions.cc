// PodDisruptionBudgets: how many pods of a selection may still be evicted.
#include <algorithm>
#include <set>

#include "core/sandbox/controllers/events.h"
#include "core/sandbox/controllers/pods.h"

namespace fleetadm::sandbox {
namespace {

constexpr auto kEvictionTakes = std::chrono::minutes(2);  // then one that was allowed counts as not having happened

/// The replicas that the controllers of these pods want; pods without one count for themselves.
std::int64_t expected_pods(const ControllerContext& context, const std::vector<Json>& pods) {
  std::int64_t out = 0;
  std::set<std::string> seen;
  for (const Json& pod : pods) {
    std::int64_t scale = 1;
    std::string uid = uid_of(pod);
    for (const Json& owner : list_at(pod, {"metadata", "ownerReferences"})) {
      if (!flag(owner, {"controller"})) continue;
      const auto version = str(owner, {"apiVersion"});
      const auto slash = version.find('/');
      const auto kind =
          context.engine.kinds().find_kind(slash == std::string::npos ? "" : version.substr(0, slash), str(owner, {"kind"}));
      if (!kind) continue;
      const auto found = context.engine.get(*kind, namespace_of(pod), str(owner, {"name"}));
      if (!found || uid_of(*found) != str(owner, {"uid"}) || find(*found, {"spec", "replicas"}) == nullptr) continue;
      scale = num(*found, {"spec", "replicas"});
      uid = uid_of(*found);
    }
    if (seen.insert(uid).second) out += scale;
  }
  return out;
}

struct BudgetCounts {
  std::int64_t expected = 0, healthy = 0, desired = 0, allowed = 0;
};

BudgetCounts count_budget(const ControllerContext& context, const Json& budget, const std::vector<Json>& pods, Json& disrupted,
                          Instant now) {
  BudgetCounts out;
  std::set<std::string> there;
  for (const Json& pod : pods) {
    if (is_deleting(pod)) continue;
    const auto since = parse_time(str(disrupted, {name_of(pod)}));
    if (since && now - *since < kEvictionTakes) {
      there.insert(name_of(pod));
      continue;
    }
    if (pod_ready(pod)) ++out.healthy;
  }
  Json kept = Json::object();
  for (const auto& [name, at] : disrupted.items()) {
    if (there.contains(name)) kept[name] = at;
  }
  disrupted = std::move(kept);
  const Json* least = find(budget, {"spec", "minAvailable"});
  const Json* most = find(budget, {"spec", "maxUnavailable"});
  if (most != nullptr) {
    out.expected = expected_pods(context, pods);
    out.desired = std::max<std::int64_t>(0, out.expected - share_of(most, out.expected, true));
  } else if (least != nullptr && least->is_string()) {
    out.expected = expected_pods(context, pods);
    out.desired = share_of(least, out.expected, true);
  } else {
    out.expected = static_cast<std::int64_t>(pods.size());
    out.desired = least == nullptr ? 0 : share_of(least, out.expected, true);
  }
  out.allowed = out.expected > 0 ? std::max<std::int64_t>(0, out.healthy - out.desired) : 0;
  return out;
}

}  // namespace

void sync_disruption_budget(const ControllerContext& context, const std::string& ns, const std::string& name) {
  const auto kind = kind_of(context, "policy", "poddisruptionbudgets");
  const auto pod_kind = kind_of(context, "", "pods");
  const auto budget = context.engine.get(*kind, ns, name);
  if (!budget || is_deleting(*budget)) return;
  const auto selector = LabelSelector::from_object(find(*budget, {"spec", "selector"}));
  if (!selector) return;
  std::vector<Json> pods;
  for (Json& pod : context.engine.list(*pod_kind, ns)) {
    if (!pod_finished(pod) && selector->matches(labels_of(pod))) pods.push_back(std::move(pod));
  }
  if (pods.empty()) record_event(context, *budget, "controllermanager", "Normal", "NoPods", "No matching pods found");
  change(context, *kind, *budget, as_controller("disruption-controller", "status"), [&](Json& next) {
    const auto now = context.engine.clock().now();
    Json disrupted = object_at(next, {"status", "disruptedPods"});
    const auto counts = count_budget(context, *budget, pods, disrupted, now);
    Json& status = at_or_make(next, {"status"});
    status["currentHealthy"] = counts.healthy;
    status["desiredHealthy"] = counts.desired;
    status["disruptionsAllowed"] = counts.allowed;
    status["expectedPods"] = counts.expected;
    status["observedGeneration"] = num(*budget, {"metadata", "generation"});
    if (disrupted.empty()) {
      status.erase("disruptedPods");
    } else {
      status["disruptedPods"] = std::move(disrupted);
    }
    set_condition(next, "DisruptionAllowed", counts.allowed > 0, counts.allowed > 0 ? "SufficientPods" : "InsufficientPods", "",
                  now);
    for (Json& one : at_or_make(next, {"status", "conditions"})) {
      one.erase("lastUpdateTime");
      one["observedGeneration"] = num(*budget, {"metadata", "generation"});
    }
  });
}

}  // namespace fleetadm::sandbox
