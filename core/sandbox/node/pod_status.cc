#include "core/sandbox/node/pod_status.h"

#include <algorithm>
#include <charconv>

#include "kubeclient/base/backoff.h"

namespace fleetadm::sandbox {
namespace {

constexpr std::int64_t kLongestSleep = 10 * 365 * 86400LL;

Json terminated(const Termination& run) {
  Json state = {{"exitCode", run.code},
                {"reason", run.code == 0 ? "Completed" : "Error"},
                {"startedAt", format_time(run.started)},
                {"finishedAt", format_time(run.finished)}};
  if (run.signal != 0) state["signal"] = run.signal;
  return {{"terminated", std::move(state)}};
}

Json state_of(const ContainerView& view) {
  switch (view.phase) {
    case Phase::kRunning: return {{"running", {{"startedAt", format_time(view.started)}}}};
    case Phase::kEnded: return view.last ? terminated(*view.last) : Json::object();
    case Phase::kWaiting: break;
  }
  Json waiting = {{"reason", view.reason}};
  if (!view.message.empty()) waiting["message"] = view.message;
  return {{"waiting", std::move(waiting)}};
}

Json container_status(const Json& pod, const ContainerView& view) {
  Json status = {{"name", view.name},
                 {"image", view.image},
                 {"imageID", view.image},
                 {"ready", view.ready},
                 {"started", view.phase == Phase::kRunning},
                 {"restartCount", view.restarts},
                 {"state", state_of(view)},
                 {"lastState", Json::object()}};
  if (view.phase != Phase::kEnded && view.last) status["lastState"] = terminated(*view.last);
  if (view.phase == Phase::kRunning || view.last) {
    status["containerID"] = "process://" + uid_of(pod) + "/" + view.name + "/" + std::to_string(view.restarts);
  }
  return status;
}

Json condition(const Json& pod, std::string_view type, bool met, std::string_view reason, Instant now) {
  Json result = {
      {"type", type}, {"status", met ? "True" : "False"}, {"lastProbeTime", nullptr}, {"lastTransitionTime", format_time(now)}};
  if (!met) result["reason"] = reason;
  for (const Json& before : list_at(pod, {"status", "conditions"})) {
    if (str(before, {"type"}) == type && str(before, {"status"}) == str(result, {"status"})) {
      result["lastTransitionTime"] = str(before, {"lastTransitionTime"}, format_time(now));
    }
  }
  return result;
}

std::string_view phase_of(const Json& pod, const std::vector<ContainerView>& init, const std::vector<ContainerView>& containers) {
  const bool never = str(pod, {"spec", "restartPolicy"}, "Always") == "Never";
  for (const ContainerView& each : init) {
    const bool failed = each.phase == Phase::kEnded && each.last && each.last->code != 0;
    if (failed && (never || each.final)) return "Failed";
    if (each.phase != Phase::kEnded || failed) return "Pending";
  }
  auto all = [&](auto test) { return std::all_of(containers.begin(), containers.end(), test); };
  if (all([](const ContainerView& c) { return c.phase == Phase::kEnded && c.final; })) {
    return all([](const ContainerView& c) { return c.last && c.last->code == 0; }) ? "Succeeded" : "Failed";
  }
  // Once every container ran, the pod is Running even while one waits for its next start.
  return all([](const ContainerView& c) { return c.phase == Phase::kRunning || c.last; }) ? "Running" : "Pending";
}

}  // namespace

Duration RestartBackoff::next(Duration ran) {
  if (ran >= 2 * most_) restarts_ = 0;
  const int restart = restarts_++;
  return restart == 0 ? Duration::zero() : backoff_delay(first_, most_, restart);
}

Json pod_status(const Json& pod, const std::vector<ContainerView>& init, const std::vector<ContainerView>& containers,
                const NodeFacts& node, Instant started, Instant now) {
  const std::string_view phase = phase_of(pod, init, containers);
  const bool initialized = std::all_of(
      init.begin(), init.end(), [](const ContainerView& c) { return c.phase == Phase::kEnded && c.last && c.last->code == 0; });
  const bool over = phase == "Succeeded" || phase == "Failed";
  const bool ready = !over && std::all_of(containers.begin(), containers.end(), [](const ContainerView& c) { return c.ready; });
  const std::string_view why = phase == "Succeeded" ? "PodCompleted" : phase == "Failed" ? "PodFailed" : "ContainersNotReady";

  Json status = {{"phase", phase},
                 {"hostIP", node.ip},
                 {"hostIPs", Json::array({{{"ip", node.ip}}})},
                 {"podIP", node.ip},
                 {"podIPs", Json::array({{{"ip", node.ip}}})},
                 {"qosClass", str(pod, {"status", "qosClass"}, "BestEffort")},
                 {"startTime", format_time(started)}};
  status["conditions"] = Json::array(
      {condition(pod, "PodReadyToStartContainers", !over, "PodCompleted", now),
       condition(pod, "Initialized", initialized, "ContainersNotInitialized", now), condition(pod, "Ready", ready, why, now),
       condition(pod, "ContainersReady", ready, why, now), condition(pod, "PodScheduled", true, "", now)});
  for (const auto& [member, views] : {std::pair("containerStatuses", &containers), std::pair("initContainerStatuses", &init)}) {
    Json list = Json::array();
    for (const ContainerView& view : *views) list.push_back(container_status(pod, view));
    if (!list.empty()) status[member] = std::move(list);
  }
  return status;
}

bool restarts(std::string_view policy, int code) { return policy == "OnFailure" ? code != 0 : policy != "Never"; }

Outcome outcome_of(const Json& pod) {
  std::string wish = annotation_of(pod, kOutcomeKey);
  if (wish.empty()) wish = label_of(pod, kOutcomeKey);
  if (wish == "fail") return Outcome::kFail;
  if (wish == "unready") return Outcome::kUnready;
  if (wish == "succeed") return Outcome::kSucceed;
  if (wish == "never") return Outcome::kNever;
  const Json& owners = list_at(pod, {"metadata", "ownerReferences"});
  const bool job = std::any_of(owners.begin(), owners.end(), [](const Json& owner) { return str(owner, {"kind"}) == "Job"; });
  // The pause container is there to run until it is told to stop.
  const Json& containers = list_at(pod, {"spec", "containers"});
  const bool pauses = !containers.empty() && std::all_of(containers.begin(), containers.end(), [](const Json& one) {
    return image_base(str(one, {"image"})) == "pause";
  });
  if (pauses) return Outcome::kRun;
  return job || str(pod, {"spec", "restartPolicy"}, "Always") != "Always" ? Outcome::kSucceed : Outcome::kRun;
}

std::optional<Duration> sleep_of(const Json& container) {
  auto words = string_list_at(container, {"command"});
  for (auto& word : string_list_at(container, {"args"})) words.push_back(std::move(word));
  if (words.size() != 2 || (words[0] != "sleep" && words[0] != "/bin/sleep")) return std::nullopt;
  std::int64_t seconds = 0;
  const auto* end = words[1].data() + words[1].size();
  const auto [last, error] = std::from_chars(words[1].data(), end, seconds);
  if (error != std::errc() || last != end || seconds < 0) return std::nullopt;
  return std::chrono::seconds(std::min(seconds, kLongestSleep));
}

}  // namespace fleetadm::sandbox
