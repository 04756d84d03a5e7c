// Deployments, StatefulSets, DaemonSets, ReplicaSets and Jobs, as `kubectl rollout status` and kstatus judge them.
#include "core/work/rules/conditions.h"
#include "core/work/rules/readiness.h"

namespace fleetadm::work {
namespace {

Readiness in_progress(std::string reason, std::string message) {
  return {ReadyState::kFalse, std::move(reason), std::move(message), false};
}

std::string of_replicas(std::int64_t count, std::int64_t total, std::string_view what) {
  return std::to_string(count) + " of " + std::to_string(total) + (total == 1 ? " replica " : " replicas ") + std::string(what);
}

/// Pods that the controller could not create: a quota, or an admission policy.
std::optional<Readiness> replica_failure(const Json& object, std::int64_t ready, std::int64_t wanted) {
  const Json& conditions = list_at(object, {"status", "conditions"});
  if (!is_true(conditions, "ReplicaFailure")) return std::nullopt;
  const Json& failure = *condition_in(conditions, "ReplicaFailure");
  return in_progress(valid_reason(str(failure, {"reason"}), "ReplicaFailure"),
                     of_replicas(ready, wanted, "ready") + ": " + str(failure, {"message"}));
}

}  // namespace

Readiness deployment_readiness(const Json& object) {
  const Json& conditions = list_at(object, {"status", "conditions"});
  const std::int64_t wanted = num(object, {"spec", "replicas"}, 1);
  const std::int64_t total = num(object, {"status", "replicas"});
  const std::int64_t updated = num(object, {"status", "updatedReplicas"});
  const std::int64_t ready = num(object, {"status", "readyReplicas"});
  const std::int64_t available = num(object, {"status", "availableReplicas"});
  const std::string count = of_replicas(ready, wanted, "ready");
  if (const Json* progressing = condition_in(conditions, "Progressing");
      progressing != nullptr && str(*progressing, {"reason"}) == "ProgressDeadlineExceeded") {
    return {ReadyState::kFalse, "ProgressDeadlineExceeded", count + ": " + str(*progressing, {"message"}), true};
  }
  if (std::optional<Readiness> failure = replica_failure(object, ready, wanted)) return std::move(*failure);
  if (updated < wanted) return in_progress("ReplicasNotReady", count + ", " + std::to_string(updated) + " updated");
  if (total > updated)
    return in_progress("OldReplicasLeft", count + ", " + std::to_string(total - updated) +
                                              (total - updated == 1 ? " old one still running" : " old ones still running"));
  if (ready < wanted) return in_progress("ReplicasNotReady", count);
  if (available < updated) return in_progress("ReplicasNotAvailable", count + ", " + std::to_string(available) + " available");
  return {ReadyState::kTrue, "Ready", count, false};
}

Readiness stateful_set_readiness(const Json& object) {
  const std::int64_t wanted = num(object, {"spec", "replicas"}, 1);
  const std::int64_t updated = num(object, {"status", "updatedReplicas"});
  const std::int64_t ready = num(object, {"status", "readyReplicas"});
  const std::string count = of_replicas(ready, wanted, "ready");
  if (ready < wanted) return in_progress("ReplicasNotReady", count);
  if (num(object, {"status", "replicas"}) > wanted) return in_progress("OldReplicasLeft", count + ", scaling down");
  // Pods of an OnDelete set are updated by whoever deletes them.
  if (str(object, {"spec", "updateStrategy", "type"}) != "OnDelete") {
    const std::int64_t partition = num(object, {"spec", "updateStrategy", "rollingUpdate", "partition"});
    if (partition > 0) {
      if (updated < wanted - partition)
        return in_progress("ReplicasNotUpdated", of_replicas(updated, wanted - partition, "updated"));
    } else if (str(object, {"status", "updateRevision"}) != str(object, {"status", "currentRevision"})) {
      return in_progress("ReplicasNotUpdated", of_replicas(updated, wanted, "updated"));
    }
  }
  return {ReadyState::kTrue, "Ready", count, false};
}

Readiness daemon_set_readiness(const Json& object) {
  const std::int64_t wanted = num(object, {"status", "desiredNumberScheduled"});
  const std::int64_t updated = num(object, {"status", "updatedNumberScheduled"});
  const std::int64_t available = num(object, {"status", "numberAvailable"});
  const std::string count = std::to_string(num(object, {"status", "numberReady"})) + " of " + std::to_string(wanted) +
                            (wanted == 1 ? " pod ready" : " pods ready");
  const bool on_delete = str(object, {"spec", "updateStrategy", "type"}) == "OnDelete";
  if (!on_delete && updated < wanted) return in_progress("PodsNotUpdated", count + ", " + std::to_string(updated) + " updated");
  if (available < wanted) return in_progress("PodsNotReady", count);
  return {ReadyState::kTrue, "Ready", count, false};
}

Readiness replica_set_readiness(const Json& object) {
  const std::int64_t wanted = num(object, {"spec", "replicas"}, 1);
  const std::int64_t ready = num(object, {"status", "readyReplicas"});
  const std::string count = of_replicas(ready, wanted, "ready");
  if (std::optional<Readiness> failure = replica_failure(object, ready, wanted)) return std::move(*failure);
  if (ready < wanted || num(object, {"status", "availableReplicas"}) < wanted) return in_progress("ReplicasNotReady", count);
  if (num(object, {"status", "replicas"}) > wanted) return in_progress("OldReplicasLeft", count + ", scaling down");
  return {ReadyState::kTrue, "Ready", count, false};
}

Readiness job_readiness(const Json& object) {
  const Json& conditions = list_at(object, {"status", "conditions"});
  for (const char* type : {"Failed", "FailureTarget"}) {
    if (!is_true(conditions, type)) continue;
    const Json& failed = *condition_in(conditions, type);
    return {ReadyState::kFalse, valid_reason(str(failed, {"reason"}), "JobFailed"), "the Job failed: " + str(failed, {"message"}),
            true};
  }
  if (is_true(conditions, "Complete")) return {ReadyState::kTrue, "Completed", "the Job has completed", false};
  if (is_true(conditions, "Suspended")) return in_progress("Suspended", "the Job is suspended");
  return in_progress("JobNotComplete", "the Job has not completed: " + std::to_string(num(object, {"status", "succeeded"})) +
                                           " of " + std::to_string(num(object, {"spec", "completions"}, 1)) + " succeeded");
}

}  // namespace fleetadm::work
