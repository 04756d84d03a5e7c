#include "core/install/pod_trouble.h"

#include <algorithm>
#include <array>

namespace fleetadm::install {
namespace {

namespace r = kube::resources;

constexpr std::size_t kLongestMessage = 400;
constexpr int kPodsRead = 50;  // pods of one Deployment that are read

/// The last line that says something: a program's last words come after its log.
std::string one_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (const auto at = text.rfind('\n'); at != std::string_view::npos) text.remove_prefix(at + 1);
  std::string line(text.substr(0, kLongestMessage));
  if (line.size() < text.size()) line += "…";
  return line;
}

const Json* condition_of(const Json& object, std::string_view type) {
  for (const Json& one : list_at(object, {"status", "conditions"})) {
    if (str(one, {"type"}) == type) return &one;
  }
  return nullptr;
}

/// How a container ended: "OOMKilled", "Error (exit code 1)"; its own words as the message.
PodTrouble ended(std::string where, const Json& terminated) {
  std::string reason = str(terminated, {"reason"}, "Error");
  if (reason != "OOMKilled") reason += " (exit code " + std::to_string(num(terminated, {"exitCode"})) + ")";
  return {std::move(where), std::move(reason), one_line(str(terminated, {"message"}))};
}

void add_container(const Json& status, const std::string& pod, std::vector<PodTrouble>& troubles) {
  const std::string where = "container " + str(status, {"name"}) + " of " + pod;
  const std::string waiting = str(status, {"state", "waiting", "reason"});
  const Json& last = object_at(status, {"lastState", "terminated"});
  if (waiting == "CrashLoopBackOff") {
    PodTrouble trouble{where, waiting, {}};
    if (!last.empty()) {
      const PodTrouble before = ended({}, last);
      trouble.reason += ", " + before.reason;
      trouble.message = before.message;
    }
    if (trouble.message.empty()) trouble.message = one_line(str(status, {"state", "waiting", "message"}));
    troubles.push_back(std::move(trouble));
  } else if (!waiting.empty() && waiting != "ContainerCreating" && waiting != "PodInitializing") {
    troubles.push_back({where, waiting, one_line(str(status, {"state", "waiting", "message"}))});
  } else if (const Json& now = object_at(status, {"state", "terminated"}); !now.empty() && num(now, {"exitCode"}) != 0) {
    troubles.push_back(ended(where, now));
  } else if (!last.empty() && !flag(status, {"ready"}) && num(last, {"exitCode"}) != 0) {
    troubles.push_back(ended(where, last));  // started again, and not ready yet
  }
}

void add_pod(const Json& pod, std::vector<PodTrouble>& troubles) {
  if (is_deleting(pod) || str(pod, {"status", "phase"}) == "Succeeded") return;
  const std::string name = "pod " + kube::object_key(pod);
  if (str(pod, {"status", "phase"}) == "Failed") {
    const std::string reason = str(pod, {"status", "reason"});
    if (!reason.empty()) return troubles.push_back({name, reason, one_line(str(pod, {"status", "message"}))});
  }
  if (const Json* scheduled = condition_of(pod, "PodScheduled"); scheduled != nullptr && str(*scheduled, {"status"}) == "False")
    troubles.push_back({name, str(*scheduled, {"reason"}), one_line(str(*scheduled, {"message"}))});
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const Json& status : list_at(pod, {"status", list})) add_container(status, name, troubles);
  }
}

/// Whether a pod's trouble is another one's, by container and reason.
bool same_trouble(const PodTrouble& a, const PodTrouble& b) {
  const auto what = [](const PodTrouble& one) { return one.where.substr(0, one.where.find(' ')); };
  return a.reason == b.reason && what(a) == what(b);
}

}  // namespace

std::string PodTrouble::text() const { return where + ": " + reason + (message.empty() ? "" : ": " + message); }

std::vector<PodTrouble> pod_troubles(const Json& deployment, const Json& pods) {
  std::vector<PodTrouble> found;
  // Pods that admission refuses do not exist: the controller tells of them.
  if (const Json* failure = condition_of(deployment, "ReplicaFailure"); failure != nullptr && str(*failure, {"status"}) == "True")
    found.push_back(
        {"Deployment " + kube::object_key(deployment), str(*failure, {"reason"}), one_line(str(*failure, {"message"}))});
  for (const Json& pod : list_at(pods, {"items"})) add_pod(pod, found);
  std::vector<PodTrouble> troubles;
  for (PodTrouble& one : found) {
    const bool known =
        std::any_of(troubles.begin(), troubles.end(), [&](const PodTrouble& before) { return same_trouble(before, one); });
    if (!known) troubles.push_back(std::move(one));
  }
  return troubles;
}

Result<Json> read_pods(const kube::Client& client, const Json& deployment) {
  kube::Request request;
  request.path = "/api/v1/namespaces/" + namespace_of(deployment) + "/pods";
  std::string selector;
  for (const auto& [key, value] : object_at(deployment, {"spec", "selector", "matchLabels"}).items())
    selector += (selector.empty() ? "" : ",") + key + "=" + (value.is_string() ? value.get<std::string>() : std::string());
  request.query = {{"labelSelector", selector}, {"limit", std::to_string(kPodsRead)}};
  FLEETADM_TRY(const auto answer, client.raw(request));
  return parse_json(answer.body);
}

std::vector<PodTrouble> read_pod_troubles(const kube::Client& client, std::string_view ns, std::string_view deployment) {
  const auto found = client.find(r::deployments(), ns, deployment);
  if (!found || !*found) return {};
  const auto pods = read_pods(client, **found);
  return pod_troubles(**found, pods ? *pods : Json::object());
}

}  // namespace fleetadm::install
