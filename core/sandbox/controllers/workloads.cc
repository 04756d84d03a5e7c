// Deployment → ReplicaSet → Pod, and Job → Pod.
#include <algorithm>

#include "core/sandbox/api/selector.h"
#include "core/sandbox/controllers/controller.h"

namespace fleetadm::sandbox {
namespace {

const char* const kHash = "pod-template-hash";
const char* const kRevision = "deployment.kubernetes.io/revision";

std::vector<Json> owned(const ControllerContext& context, const Kind& kind, const std::string& ns, const std::string& uid) {
  auto all = context.engine.list(kind, ns);
  all.erase(std::remove_if(all.begin(), all.end(), [&](const Json& one) { return controller_uid(one) != uid; }), all.end());
  return all;
}

bool finished(const Json& pod) {
  const auto phase = str(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

bool ready(const Json& pod) {
  for (const Json& one : list_at(pod, {"status", "conditions"})) {
    if (str(one, {"type"}) == "Ready") return str(one, {"status"}) == "True";
  }
  return false;
}

Json pod_of(const Json& owner) {
  const Json& from = object_at(owner, {"spec", "template"});
  Json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"spec", object_at(from, {"spec"})}};
  Json& metadata = pod["metadata"];
  metadata = Json::object();
  for (const char* field : {"labels", "annotations", "finalizers"}) {
    if (const Json* value = find(from, {"metadata", field})) metadata[field] = *value;
  }
  metadata["generateName"] = name_of(owner) + "-";
  metadata["ownerReferences"] = Json::array({owner_reference(owner)});
  return pod;
}

/// "25%" of a number, or the number itself.
std::int64_t share(const Json* value, std::int64_t of, bool round_up) {
  if (value == nullptr) return 0;
  if (value->is_number_integer()) return value->get<std::int64_t>();
  if (!value->is_string()) return 0;
  const auto percent = std::strtoll(value->get<std::string>().c_str(), nullptr, 10);
  return round_up ? (of * percent + 99) / 100 : of * percent / 100;
}

std::string template_hash(const Json& deployment) {
  return pki::sha256_hex(dump_json(object_at(deployment, {"spec", "template"}))).substr(0, 10);
}

struct Sets {
  std::vector<Json> all;
  const Json* current = nullptr;
};

std::int64_t sum(const std::vector<Json>& sets, Path path) {
  std::int64_t out = 0;
  for (const Json& one : sets) out += num(one, path);
  return out;
}

void scale(const ControllerContext& context, const Kind& kind, const Json& set, std::int64_t replicas) {
  if (num(set, {"spec", "replicas"}) == replicas) return;
  change(context, kind, set, as_controller("deployment-controller"), [&](Json& next) {
    at_or_make(next, {"spec", "replicas"}) = replicas;
  });
}

void make_set(const ControllerContext& context, const Kind& kind, const Json& deployment, const std::string& hash,
              std::int64_t replicas, std::int64_t revision) {
  Json set = {{"apiVersion", "apps/v1"}, {"kind", "ReplicaSet"}};
  set["spec"] = {{"replicas", replicas},
                 {"selector", object_at(deployment, {"spec", "selector"})},
                 {"template", object_at(deployment, {"spec", "template"})}};
  at_or_make(set, {"spec", "selector", "matchLabels", kHash}) = hash;
  at_or_make(set, {"spec", "template", "metadata", "labels", kHash}) = hash;
  at_or_make(set, {"metadata", "labels"}) = object_at(set, {"spec", "template", "metadata", "labels"});
  at_or_make(set, {"metadata", "name"}) = name_of(deployment) + "-" + hash;
  at_or_make(set, {"metadata", "annotations", kRevision}) = std::to_string(revision);
  at_or_make(set, {"metadata", "ownerReferences"}) = Json::array({owner_reference(deployment)});
  static_cast<void>(
      context.engine.create(kind, namespace_of(deployment), std::move(set), as_controller("deployment-controller")));
}

/// Moves the sets one step towards the wanted state, within maxSurge and maxUnavailable.
void roll(const ControllerContext& context, const Kind& kind, const Json& deployment, const Sets& sets) {
  const auto wanted = num(deployment, {"spec", "replicas"}, 1);
  const bool recreate = str(deployment, {"spec", "strategy", "type"}) == "Recreate";
  const auto total = sum(sets.all, {"spec", "replicas"});
  const auto current = num(*sets.current, {"spec", "replicas"});
  const auto surge = recreate ? 0 : share(find(deployment, {"spec", "strategy", "rollingUpdate", "maxSurge"}), wanted, true);
  auto unavailable =
      recreate ? wanted : share(find(deployment, {"spec", "strategy", "rollingUpdate", "maxUnavailable"}), wanted, false);
  if (surge == 0 && unavailable == 0) unavailable = 1;
  if (recreate) {
    for (const Json& set : sets.all) {
      if (&set != sets.current) scale(context, kind, set, 0);
    }
    const auto old_pods = sum(sets.all, {"status", "replicas"}) - num(*sets.current, {"status", "replicas"});
    if (total == current && old_pods == 0) scale(context, kind, *sets.current, wanted);
    return;
  }
  if (current > wanted || total == current) {
    scale(context, kind, *sets.current, wanted);
  } else {
    scale(context, kind, *sets.current, std::min(wanted, current + std::max<std::int64_t>(0, wanted + surge - total)));
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
    scale(context, kind, set, has - take);
  }
}

void write_deployment_status(const ControllerContext& context, const Kind& kind, const Json& deployment, const Sets& sets,
                             std::int64_t revision) {
  const auto wanted = num(deployment, {"spec", "replicas"}, 1);
  const auto updated = sets.current == nullptr ? 0 : num(*sets.current, {"status", "replicas"});
  const auto available = sum(sets.all, {"status", "availableReplicas"});
  const auto total = sum(sets.all, {"status", "replicas"});
  if (annotation_of(deployment, kRevision) != std::to_string(revision)) {
    change(context, kind, deployment, as_controller("deployment-controller"), [&](Json& next) {
      at_or_make(next, {"metadata", "annotations", kRevision}) = std::to_string(revision);
    });
  }
  change(context, kind, deployment, as_controller("deployment-controller", "status"), [&](Json& next) {
    const auto now = context.engine.clock().now();
    Json& status = at_or_make(next, {"status"});
    status["observedGeneration"] = num(deployment, {"metadata", "generation"});
    const auto set = [&](const char* field, std::int64_t value) {
      if (value > 0) {
        status[field] = value;
      } else {
        status.erase(field);
      }
    };
    set("replicas", total);
    set("updatedReplicas", updated);
    set("readyReplicas", sum(sets.all, {"status", "readyReplicas"}));
    set("availableReplicas", available);
    set("unavailableReplicas", std::max<std::int64_t>(0, wanted - available));
    auto unavailable = share(find(deployment, {"spec", "strategy", "rollingUpdate", "maxUnavailable"}), wanted, false);
    const bool enough = available >= wanted - unavailable;
    set_condition(next, "Available", enough, enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
                  enough ? "Deployment has minimum availability." : "Deployment does not have minimum availability.", now);
    const bool done = updated == wanted && total == wanted && available >= wanted;
    set_condition(next, "Progressing", true, done ? "NewReplicaSetAvailable" : "ReplicaSetUpdated",
                  "ReplicaSet \"" + (sets.current == nullptr ? std::string() : name_of(*sets.current)) +
                      (done ? "\" has successfully progressed." : "\" is progressing."),
                  now);
  });
}

}  // namespace

void sync_deployment(const ControllerContext& context, const std::string& ns, const std::string& name) {
  const auto kind = kind_of(context, "apps", "deployments");
  const auto set_kind = kind_of(context, "apps", "replicasets");
  const auto deployment = context.engine.get(*kind, ns, name);
  if (!deployment || is_deleting(*deployment)) return;
  Sets sets;
  sets.all = owned(context, *set_kind, ns, uid_of(*deployment));
  const auto hash = template_hash(*deployment);
  std::int64_t revision = 0;
  for (const Json& set : sets.all) {
    revision = std::max<std::int64_t>(revision, std::strtoll(annotation_of(set, kRevision).c_str(), nullptr, 10));
    if (label_of(set, kHash) == hash) sets.current = &set;
  }
  if (sets.current != nullptr) {
    const auto own = std::strtoll(annotation_of(*sets.current, kRevision).c_str(), nullptr, 10);
    if (own < revision) {
      // Rolled back to an old template: it is the newest revision again.
      ++revision;
      change(context, *set_kind, *sets.current, as_controller("deployment-controller"), [&](Json& next) {
        at_or_make(next, {"metadata", "annotations", kRevision}) = std::to_string(revision);
      });
    }
    if (!flag(*deployment, {"spec", "paused"})) roll(context, *set_kind, *deployment, sets);
  } else if (!flag(*deployment, {"spec", "paused"})) {
    const auto wanted = num(*deployment, {"spec", "replicas"}, 1);
    const auto surge = share(find(*deployment, {"spec", "strategy", "rollingUpdate", "maxSurge"}), wanted, true);
    const auto total = sum(sets.all, {"spec", "replicas"});
    const auto first = total == 0 ? wanted : std::clamp<std::int64_t>(wanted + surge - total, 0, wanted);
    ++revision;
    make_set(context, *set_kind, *deployment, hash,
             str(*deployment, {"spec", "strategy", "type"}) == "Recreate" && total > 0 ? 0 : first, revision);
    return;  // its write calls this again
  }
  write_deployment_status(context, *kind, *deployment, sets, revision);
}

void sync_replica_set(const ControllerContext& context, const std::string& ns, const std::string& name) {
  const auto kind = kind_of(context, "apps", "replicasets");
  const auto pod_kind = kind_of(context, "", "pods");
  const auto set = context.engine.get(*kind, ns, name);
  if (!set || is_deleting(*set)) return;
  auto pods = owned(context, *pod_kind, ns, uid_of(*set));
  pods.erase(std::remove_if(pods.begin(), pods.end(), [](const Json& pod) { return finished(pod) || is_deleting(pod); }),
             pods.end());
  const auto wanted = num(*set, {"spec", "replicas"}, 1);
  auto active = static_cast<std::int64_t>(pods.size());
  for (; active < wanted; ++active) {
    if (!context.engine.create(*pod_kind, ns, pod_of(*set), as_controller("replicaset-controller"))) break;
  }
  if (active > wanted) {
    // Those that are not ready go first, then the youngest.
    std::stable_sort(pods.begin(), pods.end(), [](const Json& a, const Json& b) {
      if (ready(a) != ready(b)) return !ready(a);
      return str(a, {"metadata", "creationTimestamp"}) > str(b, {"metadata", "creationTimestamp"});
    });
    for (std::int64_t i = 0; i < active - wanted; ++i) remove(context, *pod_kind, pods[static_cast<std::size_t>(i)]);
  }
  const auto good = std::count_if(pods.begin(), pods.end(), [](const Json& pod) { return ready(pod); });
  change(context, *kind, *set, as_controller("replicaset-controller", "status"), [&](Json& next) {
    Json& status = at_or_make(next, {"status"});
    status["replicas"] = static_cast<std::int64_t>(pods.size());
    status["fullyLabeledReplicas"] = static_cast<std::int64_t>(pods.size());
    status["readyReplicas"] = good;
    status["availableReplicas"] = good;
    status["observedGeneration"] = num(*set, {"metadata", "generation"});
  });
}

void sync_job(const ControllerContext& context, const std::string& ns, const std::string& name) {
  const auto kind = kind_of(context, "batch", "jobs");
  const auto pod_kind = kind_of(context, "", "pods");
  const auto job = context.engine.get(*kind, ns, name);
  if (!job || is_deleting(*job) || flag(*job, {"spec", "suspend"})) return;
  for (const Json& one : list_at(*job, {"status", "conditions"})) {
    const auto type = str(one, {"type"});
    if ((type == "Complete" || type == "Failed") && str(one, {"status"}) == "True") return;
  }
  const auto pods = owned(context, *pod_kind, ns, uid_of(*job));
  const auto count = [&](const char* phase) {
    return std::count_if(pods.begin(), pods.end(), [&](const Json& pod) { return str(pod, {"status", "phase"}) == phase; });
  };
  const auto succeeded = count("Succeeded");
  const auto failed = count("Failed");
  auto active = std::count_if(pods.begin(), pods.end(), [](const Json& pod) { return !finished(pod) && !is_deleting(pod); });
  const auto completions = num(*job, {"spec", "completions"}, 1);
  const bool complete = succeeded >= completions;
  const bool broken = failed > num(*job, {"spec", "backoffLimit"}, 6);
  if (!complete && !broken) {
    const auto wanted = std::min<std::int64_t>(num(*job, {"spec", "parallelism"}, 1), completions - succeeded);
    for (; active < wanted; ++active) {
      if (!context.engine.create(*pod_kind, ns, pod_of(*job), as_controller("job-controller"))) break;
    }
  }
  change(context, *kind, *job, as_controller("job-controller", "status"), [&](Json& next) {
    const auto now = context.engine.clock().now();
    Json& status = at_or_make(next, {"status"});
    const auto set = [&](const char* field, std::int64_t value) {
      if (value > 0) {
        status[field] = value;
      } else {
        status.erase(field);
      }
    };
    if (str(status, {"startTime"}).empty()) status["startTime"] = format_time(now);
    set("active", complete || broken ? 0 : active);
    set("succeeded", succeeded);
    set("failed", failed);
    status["ready"] = std::count_if(pods.begin(), pods.end(), [](const Json& pod) { return !finished(pod) && ready(pod); });
    if (complete) {
      status["completionTime"] = format_time(now);
      set_condition(next, "SuccessCriteriaMet", true, "CompletionsReached", "Reached expected number of succeeded pods", now);
      set_condition(next, "Complete", true, "CompletionsReached", "Reached expected number of succeeded pods", now);
    } else if (broken) {
      set_condition(next, "FailureTarget", true, "BackoffLimitExceeded", "Job has reached the specified backoff limit", now);
      set_condition(next, "Failed", true, "BackoffLimitExceeded", "Job has reached the specified backoff limit", now);
    }
  });
}

}  // namespace fleetadm::sandbox
