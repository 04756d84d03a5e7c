// StatefulSet → Pods with fixed names and claims, one after the other.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "core/sandbox/controllers/events.h"
#include "core/sandbox/controllers/pods.h"
#include "core/sandbox/controllers/revisions.h"

namespace fleetadm::sandbox {
namespace {

const char* const kRevisionName = "controller-revision-hash";
constexpr auto kRefusedReplica = std::chrono::seconds(5);  // then a pod that a quota or a policy forbade is tried again

std::optional<std::int64_t> ordinal_of(const Json& set, const Json& pod) {
  const auto prefix = name_of(set) + "-";
  const auto name = name_of(pod);
  if (!name.starts_with(prefix)) return std::nullopt;
  std::int64_t out = 0;
  const auto* end = name.data() + name.size();
  const auto [last, error] = std::from_chars(name.data() + prefix.size(), end, out);
  return error == std::errc() && last == end ? std::optional(out) : std::nullopt;
}

Json stateful_pod(const Json& set, const Json& pod_template, std::int64_t ordinal, const std::string& revision) {
  Json owner = set;
  Json plain = pod_template;
  plain.erase("$patch");
  at_or_make(owner, {"spec", "template"}) = std::move(plain);
  Json pod = pod_from_template(owner);
  const auto name = name_of(set) + "-" + std::to_string(ordinal);
  at_or_make(pod, {"metadata", "generateName"}) = name_of(set) + "-";
  at_or_make(pod, {"metadata", "name"}) = name;
  at_or_make(pod, {"metadata", "labels", "statefulset.kubernetes.io/pod-name"}) = name;
  at_or_make(pod, {"metadata", "labels", "apps.kubernetes.io/pod-index"}) = std::to_string(ordinal);
  at_or_make(pod, {"metadata", "labels", kRevisionName}) = revision;
  Json& spec = at_or_make(pod, {"spec"});
  spec["hostname"] = name;
  if (const auto service = str(set, {"spec", "serviceName"}); !service.empty()) spec["subdomain"] = service;
  for (const Json& claim_template : list_at(set, {"spec", "volumeClaimTemplates"})) {
    Json& volumes = at_or_make(spec, {"volumes"});
    if (!volumes.is_array()) volumes = Json::array();
    const auto volume = name_of(claim_template);
    volumes.erase(std::remove_if(volumes.begin(), volumes.end(), [&](const Json& one) { return str(one, {"name"}) == volume; }),
                  volumes.end());
    volumes.push_back({{"name", volume}, {"persistentVolumeClaim", {{"claimName", volume + "-" + name}}}});
  }
  return pod;
}

void make_claims(const ControllerContext& context, const Json& set, std::int64_t ordinal) {
  const auto kind = kind_of(context, "", "persistentvolumeclaims");
  for (const Json& from : list_at(set, {"spec", "volumeClaimTemplates"})) {
    Json made = from;
    const auto name = name_of(from) + "-" + name_of(set) + "-" + std::to_string(ordinal);
    at_or_make(made, {"metadata", "name"}) = name;
    for (const auto& [key, value] : strings_at(set, {"spec", "selector", "matchLabels"}))
      at_or_make(made, {"metadata", "labels", key}) = value;
    made["apiVersion"] = "v1";
    made["kind"] = "PersistentVolumeClaim";
    made.erase("status");
    if (!context.engine.get(*kind, namespace_of(set), name))
      static_cast<void>(
          context.engine.create(*kind, namespace_of(set), std::move(made), as_controller("statefulset-controller")));
  }
}

struct StatefulPods {
  std::map<std::int64_t, Json> at;  // by ordinal
  std::vector<Json> beyond;         // to go, the highest first
};

void write_stateful_status(const ControllerContext& context, const Kind& kind, const Json& set, const StatefulPods& pods,
                           const std::string& update) {
  std::int64_t replicas = 0, ready = 0, available = 0, updated = 0;
  std::optional<Instant> next_available;
  const auto now = context.engine.clock().now();
  for (const auto& [ordinal, pod] : pods.at) {
    if (is_deleting(pod) || pod_finished(pod)) continue;
    ++replicas;
    if (pod_ready(pod)) ++ready;
    if (pod_available(pod, num(set, {"spec", "minReadySeconds"}), now, next_available)) ++available;
    if (label_of(pod, kRevisionName) == update) ++updated;
  }
  if (next_available) look_again_at(context, *next_available);
  replicas += static_cast<std::int64_t>(pods.beyond.size());
  change(context, kind, set, as_controller("statefulset-controller", "status"), [&](Json& next) {
    Json& status = at_or_make(next, {"status"});
    auto current = str(status, {"currentRevision"}, update);
    const bool done = updated == replicas && replicas == num(set, {"spec", "replicas"}, 1) && ready == replicas;
    if (done && num(set, {"spec", "updateStrategy", "rollingUpdate", "partition"}) == 0) current = update;
    status["replicas"] = replicas;
    set_count(status, "readyReplicas", ready);
    status["availableReplicas"] = available;
    set_count(status, "updatedReplicas", updated);
    set_count(status, "currentReplicas", current == update ? updated : replicas - updated);
    status["currentRevision"] = current;
    status["updateRevision"] = update;
    status["collisionCount"] = 0;
    status["observedGeneration"] = num(set, {"metadata", "generation"});
  });
}

/// `what`: "Create", "Delete".
void tell_of_stateful_pod(const ControllerContext& context, const Json& set, const std::string& what, const std::string& pod) {
  record_event(context, set, "statefulset-controller", "Normal", "Successful" + what,
               what + " Pod " + pod + " in StatefulSet " + name_of(set) + " successful");
}

}  // namespace

void sync_stateful_set(const ControllerContext& context, const std::string& ns, const std::string& name) {
  const auto kind = kind_of(context, "apps", "statefulsets");
  const auto pod_kind = kind_of(context, "", "pods");
  const auto set = context.engine.get(*kind, ns, name);
  if (!set || is_deleting(*set)) return;
  const auto selector = LabelSelector::from_object(find(*set, {"spec", "selector"}));
  if (!selector) return;
  const auto wanted = std::max<std::int64_t>(0, num(*set, {"spec", "replicas"}, 1));
  const auto first = num(*set, {"spec", "ordinals", "start"});
  StatefulPods pods;
  for (Json& pod : claim(context, *pod_kind, *set, *selector)) {
    const auto ordinal = ordinal_of(*set, pod);
    if (!ordinal) continue;
    if (*ordinal < first || *ordinal >= first + wanted) {
      pods.beyond.push_back(std::move(pod));
    } else {
      pods.at[*ordinal] = std::move(pod);
    }
  }
  std::vector<std::string> used = {str(*set, {"status", "currentRevision"})};
  for (auto& one : used) {
    if (one.starts_with(name + "-")) one = one.substr(name.size() + 1);
  }
  const auto history = keep_revisions(context, *set, used);
  const auto current = str(*set, {"status", "currentRevision"}, history.current);
  const auto partition = num(*set, {"spec", "updateStrategy", "rollingUpdate", "partition"});
  const bool in_order = str(*set, {"spec", "podManagementPolicy"}) != "Parallel";
  const auto least = num(*set, {"spec", "minReadySeconds"});
  const auto now = context.engine.clock().now();
  std::optional<Instant> next_available;  // the status tells when to look again
  bool whole = true;                      // everything before is up
  for (auto ordinal = first; ordinal < first + wanted && (whole || !in_order); ++ordinal) {
    const auto at = pods.at.find(ordinal);
    if (at == pods.at.end()) {
      const bool old = ordinal < partition && current != history.current;
      const auto held = std::find_if(history.all.begin(), history.all.end(),
                                     [&](const Json& one) { return name_of(one) == (old ? current : history.current); });
      const Json& from = held == history.all.end() ? object_at(*set, {"spec", "template"}) : template_of_revision(*held);
      make_claims(context, *set, ordinal);
      auto made = context.engine.create(*pod_kind, ns, stateful_pod(*set, from, ordinal, old ? current : history.current),
                                        as_controller("statefulset-controller"));
      if (made) {
        tell_of_stateful_pod(context, *set, "Create", name_of(made->object));
        pods.at[ordinal] = std::move(made->object);
      } else {
        look_again_at(context, now + kRefusedReplica);
      }
      whole = false;
      continue;
    }
    if (pod_finished(at->second) && !is_deleting(at->second)) {
      remove(context, *pod_kind, at->second);
      whole = false;
    } else if (is_deleting(at->second) || !pod_available(at->second, least, now, next_available)) {
      whole = false;
    }
  }
  std::sort(pods.beyond.begin(), pods.beyond.end(),
            [&](const Json& a, const Json& b) { return *ordinal_of(*set, a) > *ordinal_of(*set, b); });
  if (whole || !in_order) {
    for (const Json& pod : pods.beyond) {
      if (!is_deleting(pod) && remove(context, *pod_kind, pod)) tell_of_stateful_pod(context, *set, "Delete", name_of(pod));
      if (in_order) break;  // the next one goes when this one is gone
    }
  }
  if (whole && pods.beyond.empty() && str(*set, {"spec", "updateStrategy", "type"}) != "OnDelete") {
    for (auto ordinal = first + wanted; ordinal-- > std::max(first, partition);) {
      const Json& pod = pods.at[ordinal];
      if (label_of(pod, kRevisionName) == history.current) continue;
      if (remove(context, *pod_kind, pod)) tell_of_stateful_pod(context, *set, "Delete", name_of(pod));
      break;
    }
  }
  write_stateful_status(context, *kind, *set, pods, history.current);
}

}  // namespace fleetadm::sandbox
