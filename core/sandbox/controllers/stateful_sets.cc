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

/// One look at a set.
class StatefulSync {
 public:
  StatefulSync(const ControllerContext& context, const Json& set, const std::vector<Json>& claimed)
      : context_(context), set_(set), pod_kind_(kind_of(context, "", "pods")) {
    for (const Json& pod : claimed) {
      const auto ordinal = ordinal_of(set_, pod);
      if (!ordinal) continue;
      if (*ordinal < first_ || *ordinal >= first_ + wanted_) {
        pods_.beyond.push_back(pod);
      } else {
        pods_.at[*ordinal] = pod;
      }
    }
    std::sort(pods_.beyond.begin(), pods_.beyond.end(),
              [&](const Json& a, const Json& b) { return *ordinal_of(set_, a) > *ordinal_of(set_, b); });
  }

  const StatefulPods& pods() const { return pods_; }

  /// Makes what is missing; in order, one after the other is up. True where all are up.
  bool scale_up(const RevisionHistory& history) {
    bool whole = true;  // everything before is up
    for (auto ordinal = first_; ordinal < first_ + wanted_ && (whole || !in_order_); ++ordinal) {
      const auto at = pods_.at.find(ordinal);
      if (at == pods_.at.end()) {
        start(ordinal, history);
        whole = false;
      } else if (pod_finished(at->second) && !is_deleting(at->second)) {
        remove(context_, *pod_kind_, at->second);
        whole = false;
      } else if (is_deleting(at->second) || !is_available(at->second)) {
        whole = false;
      }
    }
    return whole;
  }

  void scale_down(bool whole) const {
    if (!whole && in_order_) return;
    for (const Json& pod : pods_.beyond) {
      if (!is_deleting(pod)) end(pod);
      if (in_order_) return;  // the next one goes when this one is gone
    }
  }

  /// The highest that is of another revision goes.
  void roll(const std::string& revision) {
    if (!pods_.beyond.empty() || str(set_, {"spec", "updateStrategy", "type"}) == "OnDelete") return;
    for (auto ordinal = first_ + wanted_; ordinal-- > std::max(first_, partition_);) {
      const Json& pod = pods_.at[ordinal];
      if (label_of(pod, kRevisionName) != revision) return end(pod);
    }
  }

 private:
  bool is_available(const Json& pod) const {
    std::optional<Instant> next_available;  // the status tells when to look again
    return pod_available(pod, num(set_, {"spec", "minReadySeconds"}), context_.engine.clock().now(), next_available);
  }

  void start(std::int64_t ordinal, const RevisionHistory& history) {
    const auto current = str(set_, {"status", "currentRevision"}, history.current);
    const auto& revision = ordinal < partition_ ? current : history.current;
    const auto held =
        std::find_if(history.all.begin(), history.all.end(), [&](const Json& one) { return name_of(one) == revision; });
    const Json& from = held == history.all.end() ? object_at(set_, {"spec", "template"}) : template_of_revision(*held);
    make_claims(context_, set_, ordinal);
    auto made = context_.engine.create(*pod_kind_, namespace_of(set_), stateful_pod(set_, from, ordinal, revision),
                                       as_controller("statefulset-controller"));
    if (!made) return look_again_at(context_, context_.engine.clock().now() + kRefusedReplica);
    tell_of_stateful_pod(context_, set_, "Create", name_of(made->object));
    pods_.at[ordinal] = std::move(made->object);
  }

  void end(const Json& pod) const {
    if (remove(context_, *pod_kind_, pod)) tell_of_stateful_pod(context_, set_, "Delete", name_of(pod));
  }

  const ControllerContext& context_;
  const Json& set_;
  const KindPtr pod_kind_;
  const std::int64_t wanted_ = std::max<std::int64_t>(0, num(set_, {"spec", "replicas"}, 1));
  const std::int64_t first_ = num(set_, {"spec", "ordinals", "start"});
  const std::int64_t partition_ = num(set_, {"spec", "updateStrategy", "rollingUpdate", "partition"});
  const bool in_order_ = str(set_, {"spec", "podManagementPolicy"}) != "Parallel";
  StatefulPods pods_;
};

}  // namespace

void sync_stateful_set(const ControllerContext& context, const std::string& ns, const std::string& name) {
  const auto kind = kind_of(context, "apps", "statefulsets");
  const auto set = context.engine.get(*kind, ns, name);
  if (!set || is_deleting(*set)) return;
  const auto selector = LabelSelector::from_object(find(*set, {"spec", "selector"}));
  if (!selector) return;
  StatefulSync sync(context, *set, claim(context, *kind_of(context, "", "pods"), *set, *selector));
  std::vector<std::string> used = {str(*set, {"status", "currentRevision"})};
  for (auto& one : used) {
    if (one.starts_with(name + "-")) one = one.substr(name.size() + 1);
  }
  const auto history = keep_revisions(context, *set, used);
  const bool whole = sync.scale_up(history);
  sync.scale_down(whole);
  if (whole) sync.roll(history.current);
  write_stateful_status(context, *kind, *set, sync.pods(), history.current);
}

}  // namespace fleetadm::sandbox
