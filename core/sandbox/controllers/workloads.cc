// Deployment → ReplicaSet → Pod, and ReplicationController → Pod.
#include <algorithm>
#include <array>

#include "core/sandbox/controllers/events.h"
#include "core/sandbox/controllers/pods.h"

namespace fleetadm::sandbox {
namespace {

const char* const kHash = "pod-template-hash";
const char* const kRevision = "deployment.kubernetes.io/revision";
const char* const kHistory = "deployment.kubernetes.io/revision-history";
const char* const kDesired = "deployment.kubernetes.io/desired-replicas";
const char* const kMax = "deployment.kubernetes.io/max-replicas";
const char* const kReplicaFailure = "ReplicaFailure";
constexpr auto kRefusedRetry = std::chrono::seconds(5);  // for a pod that a quota or a policy forbade

struct Sets {
  std::vector<Json> all;
  const Json* current = nullptr;
};

std::int64_t sum(const std::vector<Json>& sets, Path path) {
  std::int64_t out = 0;
  for (const Json& one : sets) out += num(one, path);
  return out;
}

std::int64_t surge_of(const Json& deployment) {
  if (str(deployment, {"spec", "strategy", "type"}) == "Recreate") return 0;
  return share_of(find(deployment, {"spec", "strategy", "rollingUpdate", "maxSurge"}), num(deployment, {"spec", "replicas"}, 1),
                  true);
}

/// What clients that scale a set in proportion go by.
void say_replicas(const Json& deployment, Json& set) {
  const auto wanted = num(deployment, {"spec", "replicas"}, 1);
  at_or_make(set, {"metadata", "annotations", kDesired}) = std::to_string(wanted);
  at_or_make(set, {"metadata", "annotations", kMax}) = std::to_string(wanted + surge_of(deployment));
}

/// A deployment's newest set says what the deployment says of itself, and which revision it is and was.
void describe_set(const Json& deployment, Json& set, std::int64_t revision) {
  static const std::array<std::string_view, 6> kOfOneObject = {kRevision,
                                                               kHistory,
                                                               kDesired,
                                                               kMax,
                                                               "kubectl.kubernetes.io/last-applied-configuration",
                                                               "deprecated.deployment.rollback.to"};
  for (const auto& [key, value] : strings_at(deployment, {"metadata", "annotations"})) {
    if (std::find(kOfOneObject.begin(), kOfOneObject.end(), key) == kOfOneObject.end())
      at_or_make(set, {"metadata", "annotations", key}) = value;
  }
  const auto before = annotation_of(set, kRevision);
  if (before == std::to_string(revision)) return;
  if (!before.empty()) {
    const auto history = annotation_of(set, kHistory);
    at_or_make(set, {"metadata", "annotations", kHistory}) = history.empty() ? before : history + "," + before;
  }
  at_or_make(set, {"metadata", "annotations", kRevision}) = std::to_string(revision);
}

void tell_scaling(const ControllerContext& context, const Json& deployment, const std::string& set, std::int64_t before,
                  std::int64_t after) {
  record_event(context, deployment, "deployment-controller", "Normal", "ScalingReplicaSet",
               std::string(after > before ? "Scaled up" : "Scaled down") + " replica set " + set + " from " +
                   std::to_string(before) + " to " + std::to_string(after));
}

void scale(const ControllerContext& context, const Kind& kind, const Json& deployment, const Json& set, std::int64_t replicas) {
  const auto before = num(set, {"spec", "replicas"});
  if (before == replicas) return;
  const bool done = change(context, kind, set, as_controller("deployment-controller"), [&](Json& next) {
    at_or_make(next, {"spec", "replicas"}) = replicas;
    say_replicas(deployment, next);
  });
  if (done) tell_scaling(context, deployment, name_of(set), before, replicas);
}

void make_set(const ControllerContext& context, const Kind& kind, const Json& deployment, const std::string& hash,
              std::int64_t replicas, std::int64_t revision) {
  Json set = {{"apiVersion", "apps/v1"}, {"kind", "ReplicaSet"}};
  set["spec"] = {{"replicas", replicas},
                 {"selector", object_at(deployment, {"spec", "selector"})},
                 {"template", object_at(deployment, {"spec", "template"})}};
  if (const auto least = num(deployment, {"spec", "minReadySeconds"}); least > 0)
    at_or_make(set, {"spec", "minReadySeconds"}) = least;
  at_or_make(set, {"spec", "selector", "matchLabels", kHash}) = hash;
  at_or_make(set, {"spec", "template", "metadata", "labels", kHash}) = hash;
  at_or_make(set, {"metadata", "labels"}) = object_at(set, {"spec", "template", "metadata", "labels"});
  at_or_make(set, {"metadata", "name"}) = name_of(deployment) + "-" + hash;
  describe_set(deployment, set, revision);
  say_replicas(deployment, set);
  at_or_make(set, {"metadata", "ownerReferences"}) = Json::array({owner_reference(deployment)});
  const auto made = context.engine.create(kind, namespace_of(deployment), std::move(set), as_controller("deployment-controller"));
  if (made && replicas > 0) tell_scaling(context, deployment, name_of(made->object), 0, replicas);
}

/// Moves the sets one step towards the wanted state, within maxSurge and maxUnavailable.
void roll(const ControllerContext& context, const Kind& kind, const Json& deployment, const Sets& sets) {
  const auto wanted = num(deployment, {"spec", "replicas"}, 1);
  const bool recreate = str(deployment, {"spec", "strategy", "type"}) == "Recreate";
  const auto total = sum(sets.all, {"spec", "replicas"});
  const auto current = num(*sets.current, {"spec", "replicas"});
  const auto surge = recreate ? 0 : share_of(find(deployment, {"spec", "strategy", "rollingUpdate", "maxSurge"}), wanted, true);
  auto unavailable =
      recreate ? wanted : share_of(find(deployment, {"spec", "strategy", "rollingUpdate", "maxUnavailable"}), wanted, false);
  if (surge == 0 && unavailable == 0) unavailable = 1;
  if (recreate) {
    for (const Json& set : sets.all) {
      if (&set != sets.current) scale(context, kind, deployment, set, 0);
    }
    const auto old_pods = sum(sets.all, {"status", "replicas"}) - num(*sets.current, {"status", "replicas"});
    if (total == current && old_pods == 0) scale(context, kind, deployment, *sets.current, wanted);
    return;
  }
  if (current > wanted || total == current) {
    scale(context, kind, deployment, *sets.current, wanted);
  } else {
    scale(context, kind, deployment, *sets.current,
          std::min(wanted, current + std::max<std::int64_t>(0, wanted + surge - total)));
  }
  auto may_go = sum(sets.all, {"status", "availableReplicas"}) - (wanted - unavailable);
  for (const Json& set : sets.all) {
    if (&set == sets.current) continue;
    const auto has = num(set, {"spec", "replicas"});
    // What is not available may always go.
    const auto idle = std::max<std::int64_t>(0, has - num(set, {"status", "availableReplicas"}));
    const auto take = std::min(has, idle + std::max<std::int64_t>(0, may_go));
    if (take <= 0) continue;
    may_go -= take - idle;
    scale(context, kind, deployment, set, has - take);
  }
}

std::int64_t revision_number(const Json& set) { return std::strtoll(annotation_of(set, kRevision).c_str(), nullptr, 10); }

/// Removes the oldest sets without pods that exceed spec.revisionHistoryLimit.
void forget_old_sets(const ControllerContext& context, const Kind& kind, const Json& deployment, const Sets& sets) {
  std::vector<const Json*> idle;
  for (const Json& set : sets.all) {
    if (&set != sets.current && !is_deleting(set) && num(set, {"spec", "replicas"}) == 0 && num(set, {"status", "replicas"}) == 0)
      idle.push_back(&set);
  }
  std::stable_sort(idle.begin(), idle.end(),
                   [](const Json* a, const Json* b) { return revision_number(*a) < revision_number(*b); });
  auto excess = static_cast<std::int64_t>(idle.size()) - num(deployment, {"spec", "revisionHistoryLimit"}, 10);
  for (const Json* set : idle) {
    if (excess-- <= 0) break;
    remove(context, kind, *set);
  }
}

struct DeploymentCounts {
  std::int64_t wanted = 0, total = 0, updated = 0, ready = 0, available = 0;
  bool done() const { return updated == wanted && total == wanted && available >= wanted; }
  /// Further than the status says.
  bool beyond(const Json& status) const {
    return updated > num(status, {"updatedReplicas"}) ||
           total - updated < num(status, {"replicas"}) - num(status, {"updatedReplicas"}) ||
           ready > num(status, {"readyReplicas"}) || available > num(status, {"availableReplicas"});
  }
};

const Json* condition_of(const Json& object, std::string_view type) {
  for (const Json& one : list_at(object, {"status", "conditions"})) {
    if (str(one, {"type"}) == type) return &one;
  }
  return nullptr;
}

void drop_condition(Json& object, std::string_view type) {
  if (condition_of(object, type) == nullptr) return;
  Json& list = at_or_make(object, {"status", "conditions"});
  list.erase(std::remove_if(list.begin(), list.end(), [&](const Json& one) { return str(one, {"type"}) == type; }), list.end());
  if (list.empty()) erase_at(object, {"status", "conditions"});
}

/// When a rollout that makes no progress counts as failed; nothing where it need not make any.
std::optional<Instant> progress_deadline(const Json& deployment, const Json* progressing) {
  const Json* seconds = find(deployment, {"spec", "progressDeadlineSeconds"});
  if (seconds == nullptr || num(deployment, {"spec", "progressDeadlineSeconds"}) == 2147483647 || progressing == nullptr ||
      flag(deployment, {"spec", "paused"})) {
    return std::nullopt;
  }
  const auto since = parse_time(str(*progressing, {"lastUpdateTime"}));
  if (!since) return std::nullopt;
  return *since + std::chrono::seconds(num(deployment, {"spec", "progressDeadlineSeconds"}));
}

/// The Progressing condition: complete, further on, stuck for too long, or as it was.
void set_progress(Json& next, const Json& before, const DeploymentCounts& counts, const std::string& set, Instant now) {
  const Json* known = condition_of(before, "Progressing");
  const auto text = "ReplicaSet \"" + set + "\" ";
  const auto reason = known == nullptr ? std::string() : str(*known, {"reason"});
  const bool other_set = known == nullptr || str(*known, {"message"}).find("\"" + set + "\"") == std::string::npos;
  const auto progressed = [&](const char* why, const std::string& message) {
    set_condition(next, "Progressing", true, why, message, now);
    for (Json& one : at_or_make(next, {"status", "conditions"})) {
      if (str(one, {"type"}) == "Progressing") one["lastUpdateTime"] = format_time(now);
    }
  };
  const auto deadline = progress_deadline(before, known);
  if (counts.done()) {
    set_condition(next, "Progressing", true, "NewReplicaSetAvailable", text + "has successfully progressed.", now);
  } else if (other_set || counts.beyond(object_at(before, {"status"}))) {
    progressed("ReplicaSetUpdated", text + "is progressing.");
  } else if (deadline && *deadline < now && reason != "NewReplicaSetAvailable") {
    set_condition(next, "Progressing", false, "ProgressDeadlineExceeded", text + "has timed out progressing.", now);
  }
}

void write_deployment_status(const ControllerContext& context, const Kind& kind, const Json& deployment, const Sets& sets,
                             std::int64_t revision) {
  DeploymentCounts counts;
  counts.wanted = num(deployment, {"spec", "replicas"}, 1);
  counts.updated = sets.current == nullptr ? 0 : num(*sets.current, {"status", "replicas"});
  counts.available = sum(sets.all, {"status", "availableReplicas"});
  counts.ready = sum(sets.all, {"status", "readyReplicas"});
  counts.total = sum(sets.all, {"status", "replicas"});
  if (annotation_of(deployment, kRevision) != std::to_string(revision)) {
    change(context, kind, deployment, as_controller("deployment-controller"), [&](Json& next) {
      at_or_make(next, {"metadata", "annotations", kRevision}) = std::to_string(revision);
    });
  }
  const Json* before = condition_of(deployment, "Progressing");
  Json progressing = before == nullptr ? Json() : *before;
  change(context, kind, deployment, as_controller("deployment-controller", "status"), [&](Json& next) {
    const auto now = context.engine.clock().now();
    Json& status = at_or_make(next, {"status"});
    status["observedGeneration"] = num(deployment, {"metadata", "generation"});
    set_count(status, "replicas", counts.total);
    set_count(status, "updatedReplicas", counts.updated);
    set_count(status, "readyReplicas", counts.ready);
    set_count(status, "availableReplicas", counts.available);
    status["terminatingReplicas"] = sum(sets.all, {"status", "terminatingReplicas"});
    set_count(status, "unavailableReplicas", std::max<std::int64_t>(0, counts.wanted - counts.available));
    const auto most = share_of(find(deployment, {"spec", "strategy", "rollingUpdate", "maxUnavailable"}), counts.wanted, false);
    const bool enough = counts.available >= counts.wanted - most;
    set_condition(next, "Available", enough, enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
                  enough ? "Deployment has minimum availability." : "Deployment does not have minimum availability.", now);
    const Json* failure = sets.current == nullptr ? nullptr : condition_of(*sets.current, kReplicaFailure);
    if (failure != nullptr) {
      set_condition(next, kReplicaFailure, true, str(*failure, {"reason"}), str(*failure, {"message"}), now);
    } else {
      drop_condition(next, kReplicaFailure);
    }
    set_progress(next, deployment, counts, sets.current == nullptr ? std::string() : name_of(*sets.current), now);
    const Json* after = condition_of(next, "Progressing");
    progressing = after == nullptr ? Json() : *after;
  });
  if (counts.done() || str(progressing, {"status"}) != "True") return;
  // Times are written in whole seconds.
  if (const auto deadline = progress_deadline(deployment, &progressing);
      deadline && str(progressing, {"reason"}) != "NewReplicaSetAvailable")
    look_again_at(context, *deadline + std::chrono::seconds(1));
}

}  // namespace

void sync_deployment(const ControllerContext& context, const std::string& ns, const std::string& name) {
  const auto kind = kind_of(context, "apps", "deployments");
  const auto set_kind = kind_of(context, "apps", "replicasets");
  const auto deployment = context.engine.get(*kind, ns, name);
  if (!deployment || is_deleting(*deployment)) return;
  Sets sets;
  const auto selector = LabelSelector::from_object(find(*deployment, {"spec", "selector"}));
  if (!selector) return;
  sets.all = claim(context, *set_kind, *deployment, *selector);
  const auto hash = hash_of_template(object_at(*deployment, {"spec", "template"}));
  std::int64_t revision = 0;
  for (const Json& set : sets.all) {
    revision = std::max<std::int64_t>(revision, std::strtoll(annotation_of(set, kRevision).c_str(), nullptr, 10));
    if (hash_of_template(object_at(set, {"spec", "template"})) == hash) sets.current = &set;
  }
  if (sets.current != nullptr) {
    const auto own = std::strtoll(annotation_of(*sets.current, kRevision).c_str(), nullptr, 10);
    if (own < revision) ++revision;  // rolled back to an old template: it is the newest revision again
    change(context, *set_kind, *sets.current, as_controller("deployment-controller"),
           [&](Json& next) { describe_set(*deployment, next, revision); });
    if (const Json* least = find(*deployment, {"spec", "minReadySeconds"});
        num(*deployment, {"spec", "minReadySeconds"}) != num(*sets.current, {"spec", "minReadySeconds"})) {
      change(context, *set_kind, *sets.current, as_controller("deployment-controller"), [&](Json& next) {
        if (least != nullptr) at_or_make(next, {"spec", "minReadySeconds"}) = *least;
        if (least == nullptr) erase_at(next, {"spec", "minReadySeconds"});
      });
    }
    if (!flag(*deployment, {"spec", "paused"})) roll(context, *set_kind, *deployment, sets);
    forget_old_sets(context, *set_kind, *deployment, sets);
  } else if (!flag(*deployment, {"spec", "paused"})) {
    const auto wanted = num(*deployment, {"spec", "replicas"}, 1);
    const auto surge = share_of(find(*deployment, {"spec", "strategy", "rollingUpdate", "maxSurge"}), wanted, true);
    const auto total = sum(sets.all, {"spec", "replicas"});
    const auto first = total == 0 ? wanted : std::clamp<std::int64_t>(wanted + surge - total, 0, wanted);
    ++revision;
    make_set(context, *set_kind, *deployment, hash,
             str(*deployment, {"spec", "strategy", "type"}) == "Recreate" && total > 0 ? 0 : first, revision);
    return;  // its write calls this again
  }
  write_deployment_status(context, *kind, *deployment, sets, revision);
}

namespace {

/// Makes pods up to `wanted` or ends some; answers why one could not be made, empty where nothing was refused. `pods`: those that
/// are there, in the end in the order in which they go.
std::string scale_pods(const ControllerContext& context, const Json& set, const char* component, std::int64_t wanted,
                       std::vector<Json>& pods) {
  const auto kind = kind_of(context, "", "pods");
  const auto active = static_cast<std::int64_t>(pods.size());
  for (auto i = active; i < wanted; ++i) {
    const auto made =
        context.engine.create(*kind, namespace_of(set), pod_from_template(set), as_controller("replicaset-controller"));
    if (!made) {
      record_event(context, set, component, "Warning", "FailedCreate", "Error creating: " + made.error().message);
      return made.error().message;
    }
    record_event(context, set, component, "Normal", "SuccessfulCreate", "Created pod: " + name_of(made->object));
  }
  if (active <= wanted) return {};
  // Those that are not ready go first, then the youngest.
  std::stable_sort(pods.begin(), pods.end(), [](const Json& a, const Json& b) {
    if (pod_ready(a) != pod_ready(b)) return !pod_ready(a);
    return str(a, {"metadata", "creationTimestamp"}) > str(b, {"metadata", "creationTimestamp"});
  });
  for (std::int64_t i = 0; i < active - wanted; ++i) {
    const Json& pod = pods[static_cast<std::size_t>(i)];
    if (remove(context, *kind, pod))
      record_event(context, set, component, "Normal", "SuccessfulDelete", "Deleted pod: " + name_of(pod));
  }
  return {};
}

void note_replica_failure(Json& set, const std::string& refused, Instant now) {
  if (refused.empty()) {
    drop_condition(set, kReplicaFailure);
  } else if (condition_of(set, kReplicaFailure) == nullptr) {  // the first refusal tells, others name other pods
    set_condition(set, kReplicaFailure, true, "FailedCreate", refused, now);
    for (Json& one : at_or_make(set, {"status", "conditions"})) one.erase("lastUpdateTime");
  }
}

void sync_replicas(const ControllerContext& context, const Kind& kind, const std::string& ns, const std::string& name,
                   bool plain_selector) {
  const auto set = context.engine.get(kind, ns, name);
  if (!set || is_deleting(*set)) return;
  const Json* spec = find(*set, {"spec", "selector"});
  const Json wrapped = {{"matchLabels", spec == nullptr ? Json::object() : *spec}};
  const auto selector = LabelSelector::from_object(plain_selector ? &wrapped : spec);
  if (!selector) return;
  auto pods = claim(context, *kind_of(context, "", "pods"), *set, *selector);
  const auto terminating =
      std::count_if(pods.begin(), pods.end(), [](const Json& pod) { return is_deleting(pod) && !pod_finished(pod); });
  std::erase_if(pods, [](const Json& pod) { return pod_finished(pod) || is_deleting(pod); });
  const auto wanted = std::max<std::int64_t>(0, num(*set, {"spec", "replicas"}, 1));
  const auto refused =
      scale_pods(context, *set, plain_selector ? "replication-controller" : "replicaset-controller", wanted, pods);
  const auto good = std::count_if(pods.begin(), pods.end(), [](const Json& pod) { return pod_ready(pod); });
  const auto now = context.engine.clock().now();
  std::optional<Instant> next_available;
  const auto available = std::count_if(pods.begin(), pods.end(), [&](const Json& pod) {
    return pod_available(pod, num(*set, {"spec", "minReadySeconds"}), now, next_available);
  });
  if (next_available) look_again_at(context, *next_available);
  if (!refused.empty()) look_again_at(context, now + kRefusedRetry);
  change(context, kind, *set, as_controller("replicaset-controller", "status"), [&](Json& next) {
    Json& status = at_or_make(next, {"status"});
    status["replicas"] = static_cast<std::int64_t>(pods.size());
    set_count(status, "fullyLabeledReplicas", static_cast<std::int64_t>(pods.size()));
    set_count(status, "readyReplicas", good);
    set_count(status, "availableReplicas", available);
    if (!plain_selector) status["terminatingReplicas"] = terminating;
    status["observedGeneration"] = num(*set, {"metadata", "generation"});
    note_replica_failure(next, refused, now);
  });
}

}  // namespace

void sync_replica_set(const ControllerContext& context, const std::string& ns, const std::string& name) {
  sync_replicas(context, *kind_of(context, "apps", "replicasets"), ns, name, false);
}

void sync_replication_controller(const ControllerContext& context, const std::string& ns, const std::string& name) {
  sync_replicas(context, *kind_of(context, "", "replicationcontrollers"), ns, name, true);
}

}  // namespace fleetadm::sandbox
