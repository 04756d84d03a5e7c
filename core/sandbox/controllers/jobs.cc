// Job → Pod, plain and indexed.
#include <algorithm>
#include <charconv>
#include <set>

#include "core/sandbox/controllers/events.h"
#include "core/sandbox/controllers/pods.h"
#include "kubeclient/base/backoff.h"

namespace fleetadm::sandbox {
namespace {

const char* const kIndexKey = "batch.kubernetes.io/job-completion-index";
constexpr std::chrono::seconds kFirstJobBackOff{10};
constexpr std::chrono::seconds kMaxJobBackOff{600};
constexpr std::chrono::seconds kRefusedJobRetry{5};

using Indexes = std::set<std::int64_t>;

/// "0-2,4" of a set of indexes.
std::string ranges_of(const Indexes& indexes) {
  std::string out;
  for (auto at = indexes.begin(); at != indexes.end();) {
    const auto first = *at;
    auto last = first;
    for (++at; at != indexes.end() && *at == last + 1; ++at) last = *at;
    out += (out.empty() ? "" : ",") + std::to_string(first);
    if (last > first) out += (last == first + 1 ? "," : "-") + std::to_string(last);
  }
  return out;
}

/// The other way round; what is no number ends it.
Indexes indexes_of(std::string_view ranges, std::int64_t below) {
  Indexes out;
  const auto number = [&](std::int64_t& value) {
    const auto [end, error] = std::from_chars(ranges.data(), ranges.data() + ranges.size(), value);
    if (error != std::errc()) return false;
    ranges.remove_prefix(static_cast<std::size_t>(end - ranges.data()));
    return true;
  };
  while (!ranges.empty()) {
    std::int64_t first = 0;
    if (!number(first)) break;
    auto last = first;
    if (ranges.starts_with('-')) {
      ranges.remove_prefix(1);
      if (!number(last)) break;
    }
    for (auto i = first; i <= last && i < below; ++i) out.insert(i);
    if (!ranges.starts_with(',')) break;
    ranges.remove_prefix(1);
  }
  return out;
}

std::int64_t index_of(const Json& pod) {
  const auto text = annotation_of(pod, kIndexKey);
  std::int64_t out = -1;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

Json indexed_pod(const Json& job, std::int64_t index) {
  Json pod = pod_from_template(job);
  const auto number = std::to_string(index);
  at_or_make(pod, {"metadata", "generateName"}) = name_of(job) + "-" + number + "-";
  at_or_make(pod, {"metadata", "annotations", kIndexKey}) = number;
  at_or_make(pod, {"metadata", "labels", kIndexKey}) = number;
  Json& spec = at_or_make(pod, {"spec"});
  spec["hostname"] = name_of(job) + "-" + number;
  const Json from = {{"name", "JOB_COMPLETION_INDEX"},
                     {"valueFrom", {{"fieldRef", {{"fieldPath", "metadata.labels['" + std::string(kIndexKey) + "']"}}}}}};
  for (const char* list : {"initContainers", "containers"}) {
    const auto at = spec.find(list);
    if (at == spec.end() || !at->is_array()) continue;
    for (Json& container : *at) {
      Json& environment = at_or_make(container, {"env"});
      if (!environment.is_array()) environment = Json::array();
      environment.push_back(from);
    }
  }
  return pod;
}

/// What a Job's pods have come to.
struct JobView {
  bool indexed = false;
  std::int64_t completions = 1;
  std::int64_t active = 0, ready = 0, terminating = 0, succeeded = 0, failed = 0;
  Indexes done, running;
};

JobView view_job(const Json& job, const std::vector<Json>& pods) {
  JobView out;
  out.indexed = str(job, {"spec", "completionMode"}) == "Indexed";
  out.completions = num(job, {"spec", "completions"}, 1);
  for (const Json& pod : pods) {
    const auto phase = str(pod, {"status", "phase"});
    const auto index = out.indexed ? index_of(pod) : 0;
    if (phase == "Succeeded") {
      if (!out.indexed) ++out.succeeded;
      if (out.indexed && index >= 0 && index < out.completions) out.done.insert(index);
    } else if (phase == "Failed") {
      ++out.failed;
    } else if (is_deleting(pod)) {
      ++out.terminating;
    } else {
      ++out.active;
      if (pod_ready(pod)) ++out.ready;
      out.running.insert(index);
    }
  }
  if (out.indexed) out.succeeded = static_cast<std::int64_t>(out.done.size());
  return out;
}

/// A rule of spec.successPolicy holds: then the rest need not run.
bool meets_success_policy(const Json& job, const JobView& view) {
  for (const Json& rule : list_at(job, {"spec", "successPolicy", "rules"})) {
    const Json* ranges = find(rule, {"succeededIndexes"});
    const Json* count = find(rule, {"succeededCount"});
    Indexes counted = view.done;
    if (ranges != nullptr) {
      const auto wanted = indexes_of(str(rule, {"succeededIndexes"}), view.completions);
      Indexes both;
      std::set_intersection(wanted.begin(), wanted.end(), view.done.begin(), view.done.end(), std::inserter(both, both.end()));
      if (count == nullptr && both.size() == wanted.size()) return true;
      counted = std::move(both);
    }
    if (count != nullptr && static_cast<std::int64_t>(counted.size()) >= num(rule, {"succeededCount"})) return true;
  }
  return false;
}

void make_job_pods(const ControllerContext& context, const Kind& pods, const Json& job, JobView& view) {
  const auto wanted = std::min<std::int64_t>(num(job, {"spec", "parallelism"}, 1), view.completions - view.succeeded);
  std::int64_t index = 0;
  while (view.active < wanted) {
    if (view.indexed) {
      while (view.done.contains(index) || view.running.contains(index)) ++index;
      if (index >= view.completions) return;
      view.running.insert(index);
    }
    Json pod = view.indexed ? indexed_pod(job, index) : pod_from_template(job);
    const auto made = context.engine.create(pods, namespace_of(job), std::move(pod), as_controller("job-controller"));
    if (!made) {
      record_event(context, job, "job-controller", "Warning", "FailedCreate", "Error creating: " + made.error().message);
      return look_again_at(context, context.engine.clock().now() + kRefusedJobRetry);
    }
    record_event(context, job, "job-controller", "Normal", "SuccessfulCreate", "Created pod: " + name_of(made->object));
    ++view.active;
  }
}

/// When the last of a pod's containers ended.
Instant end_of_pod(const Json& pod) {
  std::string last = str(pod, {"metadata", "creationTimestamp"});
  for (const Json& one : list_at(pod, {"status", "containerStatuses"}))
    last = std::max(last, str(one, {"state", "terminated", "finishedAt"}));
  return parse_time(last).value_or(Instant());
}

/// Until when there is no pod for one that failed: the wait doubles with every failure since the last success.
std::optional<Instant> back_off_until(const std::vector<Json>& pods) {
  Instant succeeded;
  for (const Json& pod : pods) {
    if (str(pod, {"status", "phase"}) == "Succeeded") succeeded = std::max(succeeded, end_of_pod(pod));
  }
  std::optional<Instant> last;
  int failures = 0;
  for (const Json& pod : pods) {
    if (str(pod, {"status", "phase"}) != "Failed" || end_of_pod(pod) <= succeeded) continue;
    last = std::max(last.value_or(Instant()), end_of_pod(pod));
    ++failures;
  }
  return last ? std::optional(*last + backoff_delay(kFirstJobBackOff, kMaxJobBackOff, failures)) : std::nullopt;
}

/// How a Job ends, if it does now.
struct JobEnd {
  const char* type;  // "Complete", "Failed"
  const char* reason;
  const char* message;
};

std::optional<JobEnd> end_of(const ControllerContext& context, const Json& job, const JobView& view) {
  if (view.indexed && meets_success_policy(job, view))
    return JobEnd{"Complete", "SuccessPolicy", "Matched rules of the success policy"};
  if (view.succeeded >= view.completions)
    return JobEnd{"Complete", "CompletionsReached", "Reached expected number of succeeded pods"};
  if (view.failed > num(job, {"spec", "backoffLimit"}, 6))
    return JobEnd{"Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"};
  const auto started = parse_time(str(job, {"status", "startTime"}));
  const bool limited = find(job, {"spec", "activeDeadlineSeconds"}) != nullptr;
  if (!limited || flag(job, {"spec", "suspend"})) return std::nullopt;
  const auto now = context.engine.clock().now();
  const auto deadline = started.value_or(now) + std::chrono::seconds(num(job, {"spec", "activeDeadlineSeconds"}));
  if (started && deadline <= now) return JobEnd{"Failed", "DeadlineExceeded", "Job was active longer than specified deadline"};
  look_again_at(context, deadline + std::chrono::seconds(1));  // the start is kept in whole seconds
  return std::nullopt;
}

void set_job_condition(Json& job, const char* type, bool holds, const char* reason, const char* message, Instant now) {
  set_condition(job, type, holds, reason, message, now);
  for (Json& one : at_or_make(job, {"status", "conditions"})) {
    one.erase("lastUpdateTime");
    if (find(one, {"lastProbeTime"}) == nullptr) one["lastProbeTime"] = format_time(now);
  }
}

/// Suspended, resumed, started.
void set_job_start(Json& job, Instant now) {
  if (flag(job, {"spec", "suspend"})) return set_job_condition(job, "Suspended", true, "JobSuspended", "Job suspended", now);
  Json& start = at_or_make(job, {"status", "startTime"});
  if (!start.is_string()) start = format_time(now);
  for (const Json& one : list_at(job, {"status", "conditions"})) {
    if (str(one, {"type"}) != "Suspended" || str(one, {"status"}) != "True") continue;
    start = format_time(now);
    return set_job_condition(job, "Suspended", false, "JobResumed", "Job resumed", now);
  }
}

/// A Job that is over goes when its time has come.
void expire_job(const ControllerContext& context, const Kind& kind, const Json& job, const Json& condition) {
  const auto ended = parse_time(str(condition, {"lastTransitionTime"}));
  if (!ended || find(job, {"spec", "ttlSecondsAfterFinished"}) == nullptr) return;
  const auto at = *ended + std::chrono::seconds(num(job, {"spec", "ttlSecondsAfterFinished"}));
  if (at > context.engine.clock().now()) return look_again_at(context, at);
  remove(context, kind, job, "Foreground");
}

}  // namespace

void sync_job(const ControllerContext& context, const std::string& ns, const std::string& name) {
  const auto kind = kind_of(context, "batch", "jobs");
  const auto pod_kind = kind_of(context, "", "pods");
  const auto job = context.engine.get(*kind, ns, name);
  if (!job || is_deleting(*job)) return;
  for (const Json& one : list_at(*job, {"status", "conditions"})) {
    const auto type = str(one, {"type"});
    if ((type == "Complete" || type == "Failed") && str(one, {"status"}) == "True") return expire_job(context, *kind, *job, one);
  }
  const auto selector = LabelSelector::from_object(find(*job, {"spec", "selector"}));
  if (!selector) return;
  const auto pods = claim(context, *pod_kind, *job, *selector);
  const auto now = context.engine.clock().now();
  auto view = view_job(*job, pods);
  const auto end = end_of(context, *job, view);
  const bool rests = end || flag(*job, {"spec", "suspend"});
  const auto patience = back_off_until(pods);
  if (rests) {
    for (const Json& pod : pods) {
      if (!pod_finished(pod) && !is_deleting(pod)) remove(context, *pod_kind, pod);
    }
  } else if (patience && *patience > now) {
    look_again_at(context, *patience);
  } else {
    make_job_pods(context, *pod_kind, *job, view);
  }
  const bool written = change(context, *kind, *job, as_controller("job-controller", "status"), [&](Json& next) {
    set_job_start(next, now);
    Json& status = at_or_make(next, {"status"});
    status["uncountedTerminatedPods"] = Json::object();  // none ever: pods are counted as they are
    set_count(status, "active", rests ? 0 : view.active);
    set_count(status, "succeeded", view.succeeded);
    set_count(status, "failed", view.failed);
    status["ready"] = rests ? 0 : view.ready;
    status["terminating"] = rests ? 0 : view.terminating;
    if (view.indexed) status["completedIndexes"] = ranges_of(view.done);
    if (!end) return;
    const bool complete = std::string_view(end->type) == "Complete";
    if (complete) status["completionTime"] = format_time(now);
    set_job_condition(next, complete ? "SuccessCriteriaMet" : "FailureTarget", true, end->reason, end->message, now);
    set_job_condition(next, end->type, true, end->reason, end->message, now);
  });
  if (!end || !written) return;
  if (std::string_view(end->type) == "Complete") {
    record_event(context, *job, "job-controller", "Normal", "Completed", "Job completed");
  } else {
    record_event(context, *job, "job-controller", "Warning", end->reason, end->message);
  }
}

}  // namespace fleetadm::sandbox
