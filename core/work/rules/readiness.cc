#include "core/work/rules/readiness.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "core/work/rules/conditions.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::work {
namespace {

using Judge = Readiness (*)(const Json& object);

constexpr std::size_t kLongestReason = 128;

Readiness not_ready(std::string reason, std::string message, bool terminal = false) {
  return {ReadyState::kFalse, std::move(reason), std::move(message), terminal};
}

Readiness claim_readiness(const Json& object) {
  const std::string phase = str(object, {"status", "phase"});
  if (phase == "Bound") return {ReadyState::kTrue, "Bound", "the claim is bound", false};
  if (phase == "Lost") return not_ready("Lost", "the claim has lost its volume", true);
  return not_ready("Pending", "the claim is not bound");
}

Readiness service_readiness(const Json& object) {
  if (str(object, {"spec", "type"}) != "LoadBalancer") return {};
  if (!list_at(object, {"status", "loadBalancer", "ingress"}).empty()) return {};
  return not_ready("LoadBalancerPending", "the load balancer has no address yet");
}

Readiness budget_readiness(const Json& object) {
  const std::int64_t healthy = num(object, {"status", "currentHealthy"});
  const std::int64_t wanted = num(object, {"status", "desiredHealthy"});
  if (num(object, {"status", "observedGeneration"}) == 0)
    return not_ready("GenerationNotObserved", "the budget was not computed yet");
  if (healthy >= wanted) return {};
  return not_ready("InsufficientPods", std::to_string(healthy) + " of " + std::to_string(wanted) + " healthy pods");
}

Readiness definition_readiness(const Json& object) {
  const Json& conditions = list_at(object, {"status", "conditions"});
  const Json* names = condition_in(conditions, "NamesAccepted");
  if (names != nullptr && str(*names, {"status"}) == "False")
    return not_ready(valid_reason(str(*names, {"reason"}), "NamesNotAccepted"), str(*names, {"message"}), true);
  if (is_true(conditions, "Established")) return {ReadyState::kTrue, "Established", "the kind is served", false};
  return not_ready("NotEstablished", "the kind is not served yet");
}

/// By one condition; `absent` where it is not reported.
Readiness by_condition(const Json& conditions, const char* type, const std::string& absent) {
  const Json* condition = condition_in(conditions, type);
  if (condition == nullptr) return not_ready("Not" + std::string(type), absent);
  if (str(*condition, {"status"}) == "True") return {ReadyState::kTrue, "Ready", str(*condition, {"message"}), false};
  const std::string message = str(*condition, {"message"});
  return not_ready(valid_reason(str(*condition, {"reason"}), "Not" + std::string(type)),
                   message.empty() ? std::string(type) + " is " + str(*condition, {"status"}) : message);
}

Readiness api_service_readiness(const Json& object) {
  return by_condition(list_at(object, {"status", "conditions"}), "Available", "the API is not available yet");
}

Readiness namespace_readiness(const Json& object) {
  const std::string phase = str(object, {"status", "phase"});
  if (phase.empty() || phase == "Active") return {};
  return not_ready(valid_reason(phase, "NotActive"), "the namespace is " + phase);
}

Readiness exists(const Json&) { return {}; }

/// Any other kind, by the conditions that controllers have in common.
Readiness by_common_conditions(const Json& object) {
  const Json& conditions = list_at(object, {"status", "conditions"});
  for (const char* type : {"Stalled", "Reconciling"}) {
    if (!is_true(conditions, type)) continue;
    const Json& condition = *condition_in(conditions, type);
    return not_ready(valid_reason(str(condition, {"reason"}), type), str(condition, {"message"}),
                     std::string_view(type) == "Stalled");
  }
  const std::int64_t generation = num(object, {"metadata", "generation"});
  for (const char* type : {"Ready", "Available"}) {
    const Json* condition = condition_in(conditions, type);
    if (condition == nullptr) continue;
    if (const std::int64_t seen = num(*condition, {"observedGeneration"}); seen != 0 && seen < generation)
      return not_ready("GenerationNotObserved",
                       std::string(type) + " is of generation " + std::to_string(seen) + " of " + std::to_string(generation));
    return by_condition(conditions, type, {});
  }
  return {};
}

struct Kind {
  std::string_view group;
  std::string_view kind;
  Judge judge;
  bool must_observe = false;  // without an observedGeneration its controller has not seen it
};

constexpr std::array kKinds = {
    Kind{"apps", "Deployment", deployment_readiness, true},
    Kind{"apps", "StatefulSet", stateful_set_readiness, true},
    Kind{"apps", "DaemonSet", daemon_set_readiness, true},
    Kind{"apps", "ReplicaSet", replica_set_readiness, true},
    Kind{"", "ReplicationController", replica_set_readiness, true},
    Kind{"batch", "Job", job_readiness},
    Kind{"batch", "CronJob", exists},
    Kind{"", "Pod", pod_readiness},
    Kind{"", "PersistentVolumeClaim", claim_readiness},
    Kind{"", "Service", service_readiness},
    Kind{"", "Namespace", namespace_readiness},
    Kind{"policy", "PodDisruptionBudget", budget_readiness},
    Kind{"apiextensions.k8s.io", "CustomResourceDefinition", definition_readiness},
    Kind{"apiregistration.k8s.io", "APIService", api_service_readiness},
    Kind{"networking.k8s.io", "Ingress", exists},
};

}  // namespace

std::string_view to_string(ReadyState state) {
  switch (state) {
    case ReadyState::kTrue: return "True";
    case ReadyState::kFalse: return "False";
    case ReadyState::kUnknown: break;
  }
  return "Unknown";
}

Readiness readiness_of(const Json& object) {
  if (is_deleting(object)) return not_ready("Terminating", "the object is being deleted");
  const std::string group = kube::parse_api_version(str(object, {"apiVersion"})).group;
  const std::string kind = str(object, {"kind"});
  const auto known =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& one) { return one.group == group && one.kind == kind; });
  const bool must_observe = known != kKinds.end() && known->must_observe;
  const std::int64_t generation = num(object, {"metadata", "generation"});
  const bool reports = must_observe || find(object, {"status", "observedGeneration"}) != nullptr;
  if (reports && num(object, {"status", "observedGeneration"}) < generation) {
    return not_ready("GenerationNotObserved",
                     "its controller has not observed generation " + std::to_string(generation) + " yet");
  }
  return known == kKinds.end() ? by_common_conditions(object) : known->judge(object);
}

bool has_readiness(std::string_view group, std::string_view kind) {
  if (group == "rbac.authorization.k8s.io") return false;
  if (!group.empty()) return true;
  return kind != "ConfigMap" && kind != "Secret" && kind != "ServiceAccount" && kind != "LimitRange" && kind != "Endpoints";
}

std::string valid_reason(std::string_view text, std::string_view otherwise) {
  std::string reason;
  for (const char c : text) {
    const bool letter = std::isalpha(static_cast<unsigned char>(c)) != 0;
    const bool rest = std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (letter || (rest && !reason.empty())) reason.push_back(c);
    if (reason.size() == kLongestReason) break;
  }
  return reason.empty() ? std::string(otherwise) : reason;
}

}  // namespace fleetadm::work
