// Pods: whether one is ready, and what the kubelet and the scheduler say is wrong with it.
#include <initializer_list>

#include "core/work/rules/conditions.h"
#include "core/work/rules/readiness.h"

namespace fleetadm::work {
namespace {

std::optional<PodTrouble> container_trouble(const Json& status) {
  const std::string name = "container " + str(status, {"name"});
  const std::string reason = str(status, {"state", "waiting", "reason"});
  if (!reason.empty() && reason != "ContainerCreating" && reason != "PodInitializing") {
    std::string text = str(status, {"state", "waiting", "message"});
    const Json& last = object_at(status, {"lastState", "terminated"});
    // The kubelet's own message counts the seconds of the back-off.
    if (reason == "CrashLoopBackOff" && !last.empty())
      text = "it exited with code " + std::to_string(num(last, {"exitCode"})) + " (" + str(last, {"reason"}) + ")";
    return PodTrouble{reason, text.empty() ? name : name + ": " + text};
  }
  const Json& ended = object_at(status, {"state", "terminated"});
  if (ended.empty() || num(ended, {"exitCode"}) == 0) return std::nullopt;
  const std::string why = str(ended, {"reason"});
  return PodTrouble{why.empty() ? "Error" : why, name + ": it exited with code " + std::to_string(num(ended, {"exitCode"}))};
}

bool is_ready_pod(const Json& pod) {
  return str(pod, {"status", "phase"}) == "Running" && is_true(list_at(pod, {"status", "conditions"}), "Ready");
}

}  // namespace

std::optional<PodTrouble> pod_trouble(const Json& pod) {
  const std::string phase = str(pod, {"status", "phase"});
  if (phase == "Succeeded" || is_ready_pod(pod)) return std::nullopt;
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const Json& status : list_at(pod, {"status", list})) {
      if (std::optional<PodTrouble> trouble = container_trouble(status)) return trouble;
    }
  }
  if (phase == "Failed") {
    const std::string reason = str(pod, {"status", "reason"});
    return PodTrouble{reason.empty() ? "PodFailed" : reason, str(pod, {"status", "message"})};
  }
  const Json* scheduled = condition_in(list_at(pod, {"status", "conditions"}), "PodScheduled");
  if (scheduled != nullptr && str(*scheduled, {"status"}) == "False") {
    const std::string reason = str(*scheduled, {"reason"});
    return PodTrouble{reason.empty() ? "Unschedulable" : reason, str(*scheduled, {"message"})};
  }
  return std::nullopt;
}

Readiness pod_readiness(const Json& object) {
  const std::string phase = str(object, {"status", "phase"});
  if (phase == "Succeeded") return {ReadyState::kTrue, "Completed", "the pod has completed", false};
  if (is_ready_pod(object)) return {ReadyState::kTrue, "Ready", "the pod is ready", false};
  if (const std::optional<PodTrouble> trouble = pod_trouble(object))
    return {ReadyState::kFalse, valid_reason(trouble->reason, "PodNotReady"), trouble->message, phase == "Failed"};
  std::size_t ready = 0;
  for (const Json& status : list_at(object, {"status", "containerStatuses"})) ready += flag(status, {"ready"}) ? 1 : 0;
  const std::size_t total = list_at(object, {"spec", "containers"}).size();
  return {ReadyState::kFalse, "PodNotReady",
          std::to_string(ready) + " of " + std::to_string(total) + (total == 1 ? " container" : " containers") + " ready", false};
}

}  // namespace fleetadm::work
