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

/// One look at a set: what it finds on the nodes, and what it does there.
class DaemonSync {
 public:
  DaemonSync(const ControllerContext& context, const Json& set, std::string hash)
      : context_(context),
        set_(set),
        pod_kind_(kind_of(context, "", "pods")),
        hash_(std::move(hash)),
        now_(context.engine.clock().now()) {}

  /// `pods`: the set's on that node.
  void visit(const Json& node, const std::vector<Json>& pods) {
    const bool wanted = is_for(set_, node);
    const Json* kept = keep_one(pods, wanted);
    if (!wanted) {
      if (!pods.empty()) ++counts_.misplaced;
      return;
    }
    ++counts_.desired;
    if (kept != nullptr) {
      count(*kept);
    } else if (std::none_of(pods.begin(), pods.end(), [](const Json& pod) { return is_deleting(pod); })) {
      start_on(name_of(node));
    }
  }

  void remove_all(const std::vector<Json>& pods) const {
    for (const Json& pod : pods) remove(context_, *pod_kind_, pod);
  }

  /// As many at once as the strategy allows; what is not available may always go.
  void replace_outdated() const {
    if (str(set_, {"spec", "updateStrategy", "type"}) == "OnDelete") return;
    const Json* most = find(set_, {"spec", "updateStrategy", "rollingUpdate", "maxUnavailable"});
    auto may_go = std::max<std::int64_t>(1, most == nullptr ? 1 : share_of(most, counts_.desired, true)) -
                  (counts_.desired - counts_.available);
    for (const Json& pod : outdated_) {
      std::optional<Instant> later_on;
      if (pod_available(pod, least_, now_, later_on) && may_go-- <= 0) continue;
      if (remove(context_, *pod_kind_, pod))
        tell_of_daemon_pod(context_, set_, "SuccessfulDelete", "Deleted pod: " + name_of(pod));
    }
  }

  const DaemonCounts& counts() const { return counts_; }
  const std::optional<Instant>& next_available() const { return next_available_; }

 private:
  /// Removes all but one that lives, or all where none is wanted.
  const Json* keep_one(const std::vector<Json>& pods, bool wanted) const {
    const Json* kept = nullptr;
    for (const Json& pod : pods) {
      if (is_deleting(pod)) continue;
      if (!wanted || kept != nullptr || pod_finished(pod)) {
        remove(context_, *pod_kind_, pod);
      } else {
        kept = &pod;
      }
    }
    return kept;
  }

  void start_on(const std::string& node) {
    const auto made = context_.engine.create(*pod_kind_, namespace_of(set_), daemon_pod(set_, node, hash_),
                                             as_controller("daemon-set-controller"));
    if (!made) return look_again_at(context_, now_ + kRefusedDaemon);
    ++counts_.current;
    ++counts_.updated;
    tell_of_daemon_pod(context_, set_, "SuccessfulCreate", "Created pod: " + name_of(made->object));
  }

  void count(const Json& pod) {
    ++counts_.current;
    if (pod_ready(pod)) ++counts_.ready;
    if (pod_available(pod, least_, now_, next_available_)) ++counts_.available;
    if (label_of(pod, kRevisionHash) == hash_) {
      ++counts_.updated;
    } else {
      outdated_.push_back(pod);
    }
  }

  const ControllerContext& context_;
  const Json& set_;
  const KindPtr pod_kind_;
  const std::string hash_;
  const Instant now_;
  const std::int64_t least_ = num(set_, {"spec", "minReadySeconds"});
  DaemonCounts counts_;
  std::optional<Instant> next_available_;
  std::vector<Json> outdated_;
};

}  // namespace

void sync_daemon_set(const ControllerContext& context, const std::string& ns, const std::string& name) {
  const auto kind = kind_of(context, "apps", "daemonsets");
  const auto set = context.engine.get(*kind, ns, name);
  if (!set || is_deleting(*set)) return;
  const auto selector = LabelSelector::from_object(find(*set, {"spec", "selector"}));
  if (!selector) return;
  std::map<std::string, std::vector<Json>> by_node;
  std::vector<std::string> used;
  for (Json& pod : claim(context, *kind_of(context, "", "pods"), *set, *selector)) {
    used.push_back(label_of(pod, kRevisionHash));
    by_node[str(pod, {"spec", "nodeName"})].push_back(std::move(pod));
  }
  DaemonSync sync(context, *set, keep_revisions(context, *set, used).hash);
  for (const Json& node : context.engine.list(*kind_of(context, "", "nodes"))) {
    const auto pods = by_node.extract(name_of(node));
    sync.visit(node, pods ? pods.mapped() : std::vector<Json>());
  }
  for (const auto& [node, pods] : by_node) sync.remove_all(pods);  // of nodes that are gone
  sync.replace_outdated();
  if (sync.next_available()) look_again_at(context, *sync.next_available());
  write_daemon_status(context, *kind, *set, sync.counts());
}

}  // namespace fleetadm::sandbox
