#include "commands/in_pod/pod_run.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <variant>

#include "commands/framework/pod_log.h"
#include "kubeclient/base/backoff.h"
#include "kubeclient/base/sleep.h"
#include "kubeclient/watch/blocking_watch.h"

namespace fleetadm::commands {
namespace {

constexpr Duration kStartPatience = std::chrono::minutes(5);
constexpr Duration kEndPatience = std::chrono::minutes(1);  // from the end of the log to the pod's status
constexpr Duration kLookAtEvents = std::chrono::seconds(5);
constexpr Duration kOpenAgain = std::chrono::milliseconds(500);
constexpr Duration kLongestPause = std::chrono::seconds(10);

const Json& container_state(const Json& pod) {
  const Json& statuses = list_at(pod, {"status", "containerStatuses"});
  return statuses.empty() ? object_at(pod, {"status", "none"}) : object_at(statuses.front(), {"state"});
}

Error no_run(const Json& pod, const std::string& reason, const std::string& message) {
  return fail(Category::kUnavailable,
              "the pod " + name_of(pod) + " does not run: " + reason + (message.empty() ? "" : ": " + message))
      .value();
}

/// A reason for which a container waits and that does not pass by itself.
bool is_final(std::string_view reason) {
  static constexpr std::array<std::string_view, 5> kFinal = {"ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName",
                                                             "CreateContainerConfigError", "RunContainerError"};
  return std::find(kFinal.begin(), kFinal.end(), reason) != kFinal.end();
}

/// Evicted, or refused by its node: a pod that ended without its container.
bool ended_before(const Json& pod) {
  return str(pod, {"status", "phase"}) == "Failed" && find(container_state(pod), {"terminated"}) == nullptr;
}

Result<bool> has_begun(const Json& pod) {
  const Json& state = container_state(pod);
  if (find(state, {"running"}) != nullptr || find(state, {"terminated"}) != nullptr) return true;
  if (ended_before(pod)) return fail(no_run(pod, str(pod, {"status", "reason"}, "Failed"), str(pod, {"status", "message"})));
  if (const std::string reason = str(state, {"waiting", "reason"}); is_final(reason)) {
    Error error = no_run(pod, reason, str(state, {"waiting", "message"}));
    if (reason.find("Image") != std::string::npos) error.hint = "name an image that the cluster can pull with --image";
    return fail(std::move(error));
  }
  return false;
}

Result<bool> has_ended(const Json& pod) {
  if (ended_before(pod)) return fail(no_run(pod, str(pod, {"status", "reason"}, "Failed"), str(pod, {"status", "message"})));
  return find(container_state(pod), {"terminated"}) != nullptr;
}

/// What a pod that does not start waits for.
std::string waits_for(const Json& pod) {
  if (const std::string reason = str(container_state(pod), {"waiting", "reason"}); !reason.empty()) return reason;
  for (const Json& condition : list_at(pod, {"status", "conditions"}))
    if (str(condition, {"type"}) == "PodScheduled" && str(condition, {"status"}) == "False")
      return str(condition, {"reason"}) + ": " + str(condition, {"message"});
  return str(pod, {"status", "phase"}, "Pending");
}

}  // namespace

Status PodRun::refused_pods() const {
  kube::ListOptions of_job;
  of_job.field_selector = "involvedObject.kind=Job,involvedObject.name=" + job_;
  const auto events = cluster_.list(kube::resources::core_events(), ns_, of_job);
  if (!events) return {};  // who may not read them waits to the end
  for (const Json& event : list_at(*events, {"items"}))
    if (str(event, {"reason"}) == "FailedCreate")
      return fail(Category::kUnavailable, "the pod of job " + job_ + " is not created: " + str(event, {"message"}));
  return {};
}

Result<Json> PodRun::wait_pod(const std::function<Result<bool>(const Json& pod)>& wanted, Deadline patience) {
  kube::ListOptions of_job;
  of_job.label_selector = "batch.kubernetes.io/job-name=" + job_;
  std::optional<Json> last;
  const Deadline until = std::min(patience, deadline_);
  while (true) {
    kube::BlockingWatch watch(cluster_, kube::resources::pods(), ns_, of_job, "", std::chrono::minutes(5));
    for (bool open = true; open;) {
      const auto left = until - std::chrono::steady_clock::now();
      if (left <= Duration::zero())
        return fail(Category::kTimeout, "the pod of job " + job_ + " is not as far as expected: " +
                                            (last ? waits_for(*last) : std::string("there is none")));
      const auto next = watch.next(std::min<Duration>(kLookAtEvents, left), context_.stop());
      if (context_.stop().stop_requested()) return fail(Category::kCancelled, "cancelled");
      if (const auto* ended = std::get_if<kube::BlockingWatch::Ended>(&next)) {
        if (ended->error && ended->error->category == Category::kAuth) return fail(*ended->error);
        if (ended->error) sleep_for(kOpenAgain, context_.stop());
        open = false;
      } else if (const auto* event = std::get_if<kube::BlockingWatch::Event>(&next)) {
        if (event->type == "DELETED") return fail(Category::kUnavailable, "the pod " + name_of(event->object) + " was deleted");
        if (event->type == "BOOKMARK") continue;
        last = event->object;
        FLEETADM_TRY(const bool done, wanted(event->object));
        if (done) return event->object;
      } else if (!last) {
        FLEETADM_CHECK(refused_pods());
      } else {
        context_.progress().note(waits_for(*last));
      }
    }
  }
}

Status PodRun::wait_begun() {
  FLEETADM_TRY(const Json pod, wait_pod(has_begun, std::chrono::steady_clock::now() + kStartPatience));
  pod_ = name_of(pod);
  return {};
}

Result<int> PodRun::follow() {
  kube::Request request;
  request.path = kube::resources::pods().path(ns_, pod_, "log");
  request.query = {{"container", "fleetadm"}, {"follow", "true"}};
  std::uint64_t printed = 0;
  const auto print = [&]() -> Status {
    FLEETADM_TRY(const LogEnd end, print_pod_log(context_, cluster_, request, deadline_, printed));
    return end == LogEnd::kWhole ? Status{} : fail(Category::kCancelled, "the reader of the output is gone");
  };
  // Without its log the command runs all the same, and ends with a code.
  const auto ends_all = [&](const Error& error) {
    return error.category == Category::kCancelled || std::chrono::steady_clock::now() >= deadline_;
  };
  Backoff pause(kOpenAgain, kLongestPause);
  while (true) {
    const Status followed = print();
    if (!followed && ends_all(followed.error())) return fail(followed.error());
    // A stream that was cut is no end: what came after it is read when the container has ended, or followed again.
    const auto ended = wait_pod(has_ended, std::chrono::steady_clock::now() + (followed ? kEndPatience : pause.next()));
    if (ended) {
      request.query.pop_back();
      if (const Status rest = print(); !rest) {
        if (ends_all(rest.error())) return fail(rest.error());
        context_.progress().warn("the log of pod " + pod_ + " is not whole: " + rest.error().message);
      }
      return static_cast<int>(num(container_state(*ended), {"terminated", "exitCode"}));
    }
    if (ended.error().category != Category::kTimeout || ends_all(ended.error())) return fail(ended.error());
  }
}

}  // namespace fleetadm::commands
