// DaemonSet → one Pod on every node that it is for.
#include <algorithm>
#include <map>

#include "core/sandbox/controllers/events.h"
#include "core/sandbox/controllers/pods.h"
#include "core/sandbox/controllers/revisions.h"
#include "core/sandbox/node/node.h"

namespace fleetadm::sandbox {
namespace {

const char* const kRevisionHash = "controller-revision-hash";
constexpr auto kRefusedDaemon = std::chrono::seconds(5);  // then a pod that a quota or a policy forbade is tried again

/// What daemons live with: a node that is not ready, under pressure, or closed for others.
Json daemon_tolerations() {
  Json out = Json::array();
  for (const char* taint : {"not-ready", "unreachable"})
    out.push_back({{"key", std::string("node.kubernetes.io/") + taint}, {"operator", "Exists"}, {"effect", "NoExecute"}});
  for (const char* taint : {"disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"})
    out.push_back({{"key", std::string("node.kubernetes.io/") + taint}, {"operator", "Exists"}, {"effect", "NoSchedule"}});
  return out;
}

Json daemon_pod(const Json& set, const std::string& node, const std::string& hash) {
  Json pod = pod_from_template(set);
  Json& spec = at_or_make(pod, {"spec"});
  Json& tolerations = at_or_make(spec, {"tolerations"});
  if (!tolerations.is_array()) tolerations = Json::array();
  for (Json& one : daemon_tolerations()) tolerations.push_back(std::move(one));
  spec["nodeName"] = node;
  at_or_make(pod, {"metadata", "labels", kRevisionHash}) = hash;
  at_or_make(pod, {"metadata", "labels", "pod-template-generation"}) = std::to_string(num(set, {"metadata", "generation"}));
  return pod;
}

/// The node takes the set's pods: a closed node does, too.
bool is_for(const Json& set, Json node) {
  Json pod = daemon_pod(set, "", "");
  erase_at(pod, {"spec", "nodeName"});
  erase_at(node, {"spec", "unschedulable"});
  return wants_node(pod, node);
}

struct DaemonCounts {
  std::int64_t desired = 0, current = 0, misplaced = 0, ready = 0, available = 0, updated = 0;
};

void write_daemon_status(const ControllerContext& context, const Kind& kind, const Json& set, const DaemonCounts& counts) {
  change(context, kind, set, as_controller("daemon-set-controller", "status"), [&](Json& next) {
    Json& status = at_or_make(next, {"status"});
    status["currentNumberScheduled"] = counts.current;
    status["numberMisscheduled"] = counts.misplaced;
    status["desiredNumberScheduled"] = counts.desired;
    status["numberReady"] = counts.ready;
    status["observedGeneration"] = num(set, {"metadata", "generation"});
    set_count(status, "updatedNumberScheduled", counts.updated);
    set_count(status, "numberAvailable", counts.available);
    set_count(status, "numberUnavailable", counts.desired - counts.available);
  });
}

void tell_of_daemon_pod(const ControllerContext& context, const Json& set, std::string_view reason, const std::string& message) {
  record_event(context, set, "daemonset-controller", "Normal", reason, message);
}

}  // namespace

void sync_daemon_set(const ControllerContext& context, const std::string& ns, const std::string& name) {
  const auto kind = kind_of(context, "apps", "daemonsets");
  const auto pod_kind = kind_of(context, "", "pods");
  const auto set = context.engine.get(*kind, ns, name);
  if (!set || is_deleting(*set)) return;
  const auto selector = LabelSelector::from_object(find(*set, {"spec", "selector"}));
  if (!selector) return;
  std::map<std::string, std::vector<Json>> by_node;
  std::vector<std::string> used;
  for (Json& pod : claim(context, *pod_kind, *set, *selector)) {
    used.push_back(label_of(pod, kRevisionHash));
    by_node[str(pod, {"spec", "nodeName"})].push_back(std::move(pod));
  }
  const auto history = keep_revisions(context, *set, used);
  DaemonCounts counts;
  const auto least = num(*set, {"spec", "minReadySeconds"});
  const auto now = context.engine.clock().now();
  std::optional<Instant> next_available;
  std::vector<Json> outdated;
  for (const Json& node : context.engine.list(*kind_of(context, "", "nodes"))) {
    auto pods = std::move(by_node[name_of(node)]);
    by_node.erase(name_of(node));
    const bool wanted = is_for(*set, node);
    if (wanted) ++counts.desired;
    const Json* kept = nullptr;
    for (const Json& pod : pods) {
      if (is_deleting(pod)) continue;
      if (!wanted || kept != nullptr || pod_finished(pod)) {
        remove(context, *pod_kind, pod);
      } else {
        kept = &pod;
      }
    }
    if (!wanted) {
      if (!pods.empty()) ++counts.misplaced;
      continue;
    }
    const bool ending = std::any_of(pods.begin(), pods.end(), [](const Json& pod) { return is_deleting(pod); });
    if (kept == nullptr && !ending) {
      const auto made = context.engine.create(*pod_kind, ns, daemon_pod(*set, name_of(node), history.hash),
                                              as_controller("daemon-set-controller"));
      if (made) {
        ++counts.current;
        ++counts.updated;
        tell_of_daemon_pod(context, *set, "SuccessfulCreate", "Created pod: " + name_of(made->object));
      } else {
        look_again_at(context, now + kRefusedDaemon);
      }
      continue;
    }
    if (kept == nullptr) continue;
    ++counts.current;
    if (pod_ready(*kept)) ++counts.ready;
    if (pod_available(*kept, least, now, next_available)) ++counts.available;
    if (label_of(*kept, kRevisionHash) == history.hash) {
      ++counts.updated;
    } else {
      outdated.push_back(*kept);
    }
  }
  for (const auto& [node, pods] : by_node) {  // of nodes that are gone
    for (const Json& pod : pods) remove(context, *pod_kind, pod);
  }
  if (str(*set, {"spec", "updateStrategy", "type"}) != "OnDelete") {
    const Json* most = find(*set, {"spec", "updateStrategy", "rollingUpdate", "maxUnavailable"});
    auto may_go = std::max<std::int64_t>(1, most == nullptr ? 1 : share_of(most, counts.desired, true)) -
                  (counts.desired - counts.available);
    for (const Json& pod : outdated) {
      // What is not available may always go.
      std::optional<Instant> later_on;
      if (pod_available(pod, least, now, later_on) && may_go-- <= 0) continue;
      if (remove(context, *pod_kind, pod)) tell_of_daemon_pod(context, *set, "SuccessfulDelete", "Deleted pod: " + name_of(pod));
    }
  }
  if (next_available) look_again_at(context, *next_available);
  write_daemon_status(context, *kind, *set, counts);
}

}  // namespace fleetadm::sandbox
