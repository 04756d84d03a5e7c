#include "core/work/agent/readiness_causes.h"

#include <optional>
#include <utility>

#include "kubeclient/base/joined.h"
#include "kubeclient/base/utf8.h"

namespace fleetadm::work {
namespace {

constexpr std::int64_t kMaxObjects = 50;
constexpr std::size_t kLongestCause = 512;

/// The label selector of a workload as the server's query wants it; empty where there is none.
std::string pod_query(const Json& object) {
  const Json& selector = object_at(object, {"spec", "selector"});
  std::vector<std::string> parts;
  if (str(object, {"kind"}) == "ReplicationController") {
    for (const auto& [key, value] : selector.items()) parts.push_back(key + "=" + value.get<std::string>());
    return joined(parts, ",");
  }
  for (const auto& [key, value] : object_at(selector, {"matchLabels"}).items())
    parts.push_back(key + "=" + (value.is_string() ? value.get<std::string>() : std::string()));
  for (const Json& one : list_at(selector, {"matchExpressions"})) {
    const std::string key = str(one, {"key"});
    const std::string op = str(one, {"operator"});
    if (op == "In" || op == "NotIn") {
      parts.push_back(key + (op == "In" ? " in (" : " notin (") + joined(string_list_at(one, {"values"}), ",") + ")");
    } else {
      parts.push_back(op == "DoesNotExist" ? "!" + key : key);
    }
  }
  return joined(parts, ",");
}

/// A selector may match pods of others. A Deployment's pods belong to its ReplicaSets, which are named after it.
bool is_pod_of(const Json& pod, const Json& object) {
  const bool deployment = str(object, {"kind"}) == "Deployment";
  for (const Json& owner : list_at(pod, {"metadata", "ownerReferences"})) {
    if (deployment ? str(owner, {"kind"}) == "ReplicaSet" && str(owner, {"name"}).starts_with(name_of(object) + "-")
                   : str(owner, {"uid"}) == uid_of(object)) {
      return true;
    }
  }
  return false;
}

/// The first kMaxObjects of a list.
std::vector<Json> some_of(const kube::Client& spoke, const kube::Resource& resource, const std::string& ns,
                          kube::ListOptions options) {
  std::vector<Json> objects;
  options.limit = kMaxObjects;
  // Ending early is no failure; a failed read leaves the readiness as it is.
  const Status read = spoke.list_each(resource, ns, options, [&](Json&& one) -> Status {
    objects.push_back(std::move(one));
    if (objects.size() >= kMaxObjects) return fail(Category::kCancelled, "enough");
    return {};
  });
  if (!read && read.error().category != Category::kCancelled) objects.clear();
  return objects;
}

std::string shortened(std::string text) {
  if (text.size() <= kLongestCause) return text;
  return valid_utf8(text.substr(0, kLongestCause)) + "…";
}

/// The newest pod in trouble: of an update, what the new pods say.
Readiness with_pods(const Json& object, const std::vector<Json>& pods, Readiness readiness) {
  const Json* newest = nullptr;
  std::optional<PodTrouble> trouble;
  for (const Json& pod : pods) {
    if (!is_pod_of(pod, object) || is_deleting(pod)) continue;
    std::optional<PodTrouble> found = pod_trouble(pod);
    if (!found) continue;
    const auto rank = [](const Json& one) { return std::pair(str(one, {"metadata", "creationTimestamp"}), name_of(one)); };
    if (newest != nullptr && rank(*newest) >= rank(pod)) continue;
    newest = &pod;
    trouble = std::move(found);
  }
  if (newest == nullptr) return readiness;
  readiness.reason = valid_reason(trouble->reason, readiness.reason);
  readiness.message += "; pod " + name_of(*newest) + ": " + shortened(trouble->reason + ": " + trouble->message);
  return readiness;
}

Readiness with_events(const std::vector<Json>& events, Readiness readiness) {
  const Json* last = nullptr;
  const auto time = [](const Json& event) { return str(event, {"lastTimestamp"}); };
  for (const Json& event : events) {
    if (str(event, {"type"}) != "Warning" || str(event, {"reason"}) != "FailedCreate") continue;
    if (last == nullptr || time(event) > time(*last)) last = &event;
  }
  if (last == nullptr) return readiness;
  readiness.reason = "FailedCreate";
  readiness.message += "; " + shortened(str(*last, {"message"}));
  return readiness;
}

}  // namespace

bool has_cause_elsewhere(const Json& object, const Readiness& readiness) {
  if (readiness.state != ReadyState::kFalse || is_deleting(object)) return false;
  const std::string kind = str(object, {"kind"});
  const std::string api_version = str(object, {"apiVersion"});
  if (api_version == "apps/v1")
    return kind == "Deployment" || kind == "StatefulSet" || kind == "DaemonSet" || kind == "ReplicaSet";
  return (api_version == "batch/v1" && kind == "Job") || (api_version == "v1" && kind == "ReplicationController");
}

Readiness with_cause(const kube::Client& spoke, const Json& object, Readiness readiness,
                     const std::function<bool(const std::string& resource)>& may_list) {
  // The controller itself has said it.
  if (readiness.reason == "FailedCreate" || !has_cause_elsewhere(object, readiness)) return readiness;
  kube::ListOptions of_object;
  of_object.label_selector = pod_query(object);
  if (of_object.label_selector.empty() || !may_list("pods")) return readiness;
  const std::vector<Json> pods = some_of(spoke, kube::resources::pods(), namespace_of(object), of_object);
  Readiness told = with_pods(object, pods, readiness);
  // Events of a controller that created its pods long ago say nothing about now.
  if (told != readiness || !pods.empty() || !may_list("events")) return told;
  kube::ListOptions about;
  about.field_selector = "involvedObject.uid=" + uid_of(object);
  return with_events(some_of(spoke, kube::resources::core_events(), namespace_of(object), about), std::move(told));
}

}  // namespace fleetadm::work
