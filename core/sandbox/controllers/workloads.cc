// Deployment → ReplicaSet → Pod, and ReplicationController → Pod.
#include <algorithm>

#include "core/sandbox/controllers/pods.h"

namespace fleetadm::sandbox {
namespace {

const char* const kHash = "pod-template-hash";
const char* const kRevision = "deployment.kubernetes.io/revision";

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
  const auto surge = recreate ? 0 : share_of(find(deployment, {"spec", "strategy", "rollingUpdate", "maxSurge"}), wanted, true);
  auto unavailable =
      recreate ? wanted : share_of(find(deployment, {"spec", "strategy", "rollingUpdate", "maxUnavailable"}), wanted, false);
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
    auto unavailable = share_of(find(deployment, {"spec", "strategy", "rollingUpdate", "maxUnavailable"}), wanted, false);
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
    if (own < revision) {
      // Rolled back to an old template: it is the newest revision again.
      ++revision;
      change(context, *set_kind, *sets.current, as_controller("deployment-controller"), [&](Json& next) {
        at_or_make(next, {"metadata", "annotations", kRevision}) = std::to_string(revision);
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

void sync_replicas(const ControllerContext& context, const Kind& kind, const std::string& ns, const std::string& name,
                   bool plain_selector) {
  const auto pod_kind = kind_of(context, "", "pods");
  const auto set = context.engine.get(kind, ns, name);
  if (!set || is_deleting(*set)) return;
  const Json* spec = find(*set, {"spec", "selector"});
  const Json wrapped = {{"matchLabels", spec == nullptr ? Json::object() : *spec}};
  const auto selector = LabelSelector::from_object(plain_selector ? &wrapped : spec);
  if (!selector) return;
  auto pods = claim(context, *pod_kind, *set, *selector);
  pods.erase(std::remove_if(pods.begin(), pods.end(), [](const Json& pod) { return pod_finished(pod) || is_deleting(pod); }),
             pods.end());
  const auto wanted = num(*set, {"spec", "replicas"}, 1);
  auto active = static_cast<std::int64_t>(pods.size());
  for (; active < wanted; ++active) {
    if (!context.engine.create(*pod_kind, ns, pod_from_template(*set), as_controller("replicaset-controller"))) break;
  }
  if (active > wanted) {
    // Those that are not ready go first, then the youngest.
    std::stable_sort(pods.begin(), pods.end(), [](const Json& a, const Json& b) {
      if (pod_ready(a) != pod_ready(b)) return !pod_ready(a);
      return str(a, {"metadata", "creationTimestamp"}) > str(b, {"metadata", "creationTimestamp"});
    });
    for (std::int64_t i = 0; i < active - wanted; ++i) remove(context, *pod_kind, pods[static_cast<std::size_t>(i)]);
  }
  const auto good = std::count_if(pods.begin(), pods.end(), [](const Json& pod) { return pod_ready(pod); });
  change(context, kind, *set, as_controller("replicaset-controller", "status"), [&](Json& next) {
    Json& status = at_or_make(next, {"status"});
    status["replicas"] = static_cast<std::int64_t>(pods.size());
    status["fullyLabeledReplicas"] = static_cast<std::int64_t>(pods.size());
    status["readyReplicas"] = good;
    status["availableReplicas"] = good;
    status["observedGeneration"] = num(*set, {"metadata", "generation"});
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
