// CronJob → Job, at the times of its schedule.
#include <algorithm>
#include <optional>
#include <set>

#include "core/sandbox/controllers/events.h"
#include "core/sandbox/controllers/pods.h"
#include "core/sandbox/cron/schedule.h"

namespace fleetadm::sandbox {
namespace {

const char* const kComponent = "cronjob-controller";
const char* const kScheduledAt = "batch.kubernetes.io/cronjob-scheduled-timestamp";
constexpr std::int64_t kManyMissed = 100;
constexpr auto kPadding = std::chrono::milliseconds(100);  // after a scheduled time: clocks differ a little
constexpr auto kFailedRetry = std::chrono::seconds(10);

std::int64_t unix_seconds(Instant at) { return std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count(); }
Instant instant_of(std::int64_t seconds) { return Instant(std::chrono::seconds(seconds)); }
std::optional<std::int64_t> seconds_at(const Json& object, Path path) {
  const auto at = parse_time(str(object, path));
  return at ? std::optional(unix_seconds(*at)) : std::nullopt;
}

/// "Complete" or "Failed"; empty while it is not over.
std::string end_of_job(const Json& job) {
  for (const Json& one : list_at(job, {"status", "conditions"})) {
    const auto type = str(one, {"type"});
    if ((type == "Complete" || type == "Failed") && str(one, {"status"}) == "True") return type;
  }
  return {};
}

/// A CronJob, its Jobs, and its status as it is going to be.
struct CronView {
  const ControllerContext& context;
  const Json& cron_job;
  const Kind& job_kind;
  std::vector<Json> jobs;
  std::vector<Json> active;  // status.active
  std::optional<std::int64_t> last_scheduled;
  std::string last_successful;

  void tell(std::string_view type, std::string_view reason, const std::string& message) const {
    record_event(context, cron_job, kComponent, type, reason, message);
  }
  bool lists(const std::string& uid) const {
    return std::any_of(active.begin(), active.end(), [&](const Json& one) { return str(one, {"uid"}) == uid; });
  }
  void unlist(const std::string& uid) {
    active.erase(std::remove_if(active.begin(), active.end(), [&](const Json& one) { return str(one, {"uid"}) == uid; }),
                 active.end());
  }
  void remove_job(const Json& job) {
    if (!remove(context, job_kind, job)) return;
    unlist(uid_of(job));
    tell("Normal", "SuccessfulDelete", "Deleted job " + name_of(job));
  }
};

/// What has become of the Jobs since the status was written.
void follow_jobs(CronView& view) {
  std::set<std::string> there;
  for (const Json& job : view.jobs) {
    const auto uid = uid_of(job);
    const auto end = end_of_job(job);
    there.insert(uid);
    if (end.empty()) {
      if (!view.lists(uid))
        view.tell("Warning", "UnexpectedJob", "Saw a job that the controller did not create or forgot: " + name_of(job));
      continue;
    }
    if (view.lists(uid)) {
      view.unlist(uid);
      view.tell("Normal", "SawCompletedJob", "Saw completed job: " + name_of(job) + ", condition: " + end);
    }
    const auto completed = str(job, {"status", "completionTime"});
    if (end == "Complete" && completed > view.last_successful) view.last_successful = completed;
  }
  for (const auto& one : std::vector<Json>(view.active)) {
    if (there.contains(str(one, {"uid"}))) continue;
    view.unlist(str(one, {"uid"}));
    view.tell("Normal", "MissingJob", "Active job went missing: " + str(one, {"name"}));
  }
}

void forget_old_jobs(CronView& view) {
  for (const auto& [end, limit] :
       {std::pair("Complete", "successfulJobsHistoryLimit"), std::pair("Failed", "failedJobsHistoryLimit")}) {
    const Json* most = find(view.cron_job, {"spec", limit});
    if (most == nullptr) continue;
    std::vector<const Json*> over;
    for (const Json& job : view.jobs) {
      if (end_of_job(job) == end && !is_deleting(job)) over.push_back(&job);
    }
    std::sort(over.begin(), over.end(), [](const Json* a, const Json* b) {
      return std::pair(str(*a, {"status", "startTime"}), name_of(*a)) < std::pair(str(*b, {"status", "startTime"}), name_of(*b));
    });
    auto excess = static_cast<std::int64_t>(over.size()) - num(view.cron_job, {"spec", limit});
    for (const Json* job : over) {
      if (excess-- <= 0) break;
      view.remove_job(*job);
    }
  }
}

/// Which times have come since the last one.
struct Unmet {
  std::int64_t since = 0;
  std::optional<std::int64_t> latest;
  std::int64_t count = 0;  // about
  bool senseless = false;  // a schedule without times
};

Unmet unmet_times(const CronView& view, const cron::Schedule& schedule, const TimeZone& zone, std::int64_t now,
                  bool within_deadline) {
  Unmet out;
  out.since = seconds_at(view.cron_job, {"metadata", "creationTimestamp"}).value_or(now);
  if (view.last_scheduled) out.since = *view.last_scheduled;
  if (within_deadline && find(view.cron_job, {"spec", "startingDeadlineSeconds"}) != nullptr)
    out.since = std::max(out.since, now - num(view.cron_job, {"spec", "startingDeadlineSeconds"}));
  const auto first = schedule.next(out.since, zone);
  const auto second = first ? schedule.next(*first, zone) : std::nullopt;
  if (!first || !second) {
    out.senseless = true;
    return out;
  }
  if (now < *first) return out;
  if (now < *second) {
    out.latest = first;
    return out;
  }
  const auto apart = *second - *first;
  out.count = (now - *first) / apart + 1;
  // From a little before the last one, as the times need not be evenly apart.
  for (auto at = schedule.next(*first + (out.count - 2) * apart, zone); at && *at <= now; at = schedule.next(*at, zone))
    out.latest = at;
  return out;
}

Instant next_look(const CronView& view, const cron::Schedule& schedule, const TimeZone& zone, std::int64_t now) {
  const auto unmet = unmet_times(view, schedule, zone, now, false);
  const auto from = unmet.senseless ? now : unmet.latest ? *unmet.latest : unmet.count == 0 ? unmet.since : now;
  const auto next = schedule.next(from, zone);
  return instant_of(next.value_or(now + 86400)) + kPadding;
}

Json job_of(const Json& cron_job, const std::string& name, std::int64_t scheduled, const TimeZone& zone) {
  const Json& form = object_at(cron_job, {"spec", "jobTemplate"});
  Json metadata = {{"name", name}, {"ownerReferences", Json::array({owner_reference(cron_job)})}};
  if (const Json* labels = find(form, {"metadata", "labels"})) metadata["labels"] = *labels;
  Json annotations = object_at(form, {"metadata", "annotations"});
  annotations[kScheduledAt] = zone.format(scheduled);
  metadata["annotations"] = std::move(annotations);
  return {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", std::move(metadata)}, {"spec", object_at(form, {"spec"})}};
}

/// Makes the Job of a scheduled time. False where it has to be tried again.
bool start_job(CronView& view, std::int64_t scheduled, const TimeZone& zone) {
  const auto ns = namespace_of(view.cron_job);
  const auto name = name_of(view.cron_job) + "-" + std::to_string(scheduled / 60);
  auto made =
      view.context.engine.create(view.job_kind, ns, job_of(view.cron_job, name, scheduled, zone), as_controller(kComponent));
  Json job;
  if (made) {
    job = std::move(made->object);
    view.tell("Normal", "SuccessfulCreate", "Created job " + name);
  } else if (made.error().reason == "AlreadyExists") {
    // Made before the status could be written, or somebody else's.
    const auto known = view.context.engine.get(view.job_kind, ns, name);
    if (!known) return false;
    if (controller_uid(*known) != uid_of(view.cron_job) || view.lists(uid_of(*known))) return true;
    job = *known;
  } else {
    if (made.error().message.find("because it is being terminated") == std::string::npos)
      view.tell("Warning", "FailedCreate", "Error creating job: " + made.error().message);
    return false;
  }
  view.active.push_back({{"apiVersion", "batch/v1"},
                         {"kind", "Job"},
                         {"namespace", ns},
                         {"name", name},
                         {"uid", uid_of(job)},
                         {"resourceVersion", resource_version_of(job)}});
  view.last_scheduled = scheduled;
  return true;
}

/// Whether a time that has come makes a Job now.
bool may_start(CronView& view, std::int64_t scheduled, Instant now) {
  const Json* deadline = find(view.cron_job, {"spec", "startingDeadlineSeconds"});
  if (deadline != nullptr && instant_of(scheduled + num(view.cron_job, {"spec", "startingDeadlineSeconds"})) < now) {
    view.tell("Warning", "MissSchedule", "Missed scheduled time to start a job: " + format_time(instant_of(scheduled)));
    return false;
  }
  const auto name = name_of(view.cron_job) + "-" + std::to_string(scheduled / 60);
  const bool listed =
      std::any_of(view.active.begin(), view.active.end(), [&](const Json& one) { return str(one, {"name"}) == name; });
  if (listed || view.last_scheduled == scheduled) return false;
  const auto policy = str(view.cron_job, {"spec", "concurrencyPolicy"});
  if (policy == "Forbid" && !view.active.empty()) {
    view.tell("Normal", "JobAlreadyActive",
              "Not starting job because prior execution is running and concurrency policy is Forbid");
    return false;
  }
  if (policy == "Replace") {
    for (const auto& one : std::vector<Json>(view.active)) {
      for (const Json& job : view.jobs) {
        if (uid_of(job) == str(one, {"uid"})) view.remove_job(job);
      }
    }
    return view.active.empty();
  }
  return true;
}

void keep_schedule(CronView& view) {
  const auto& cron_job = view.cron_job;
  const auto text = str(cron_job, {"spec", "schedule"});
  const auto schedule = cron::Schedule::parse(text);
  const auto named = schedule && !schedule->zone().empty() ? schedule->zone() : str(cron_job, {"spec", "timeZone"});
  const auto zone = TimeZone::load(named);
  if (!zone) return view.tell("Warning", "UnknownTimeZone", "invalid timeZone: \"" + named + "\": " + zone.error().message);
  if (flag(cron_job, {"spec", "suspend"})) return;
  if (!schedule) {
    return view.tell("Warning", "UnparseableSchedule", "unparseable schedule: \"" + text + "\" : " + schedule.error().message);
  }
  const auto now = view.context.engine.clock().now();
  const auto seconds = unix_seconds(now);
  const auto unmet = unmet_times(view, *schedule, *zone, seconds, true);
  if (unmet.senseless) {
    return view.tell("Warning", "InvalidSchedule",
                     "invalid schedule: " + text + " : time difference between two schedules is less than 1 second");
  }
  if (unmet.latest) {
    if (unmet.count > kManyMissed) {
      view.tell("Warning", "TooManyMissedTimes",
                "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew");
    }
    if (may_start(view, *unmet.latest, now) && !start_job(view, *unmet.latest, *zone))
      return look_again_at(view.context, now + kFailedRetry);
  }
  look_again_at(view.context, next_look(view, *schedule, *zone, seconds));
}

}  // namespace

void sync_cron_job(const ControllerContext& context, const std::string& ns, const std::string& name) {
  const auto kind = kind_of(context, "batch", "cronjobs");
  const auto job_kind = kind_of(context, "batch", "jobs");
  const auto cron_job = context.engine.get(*kind, ns, name);
  if (!cron_job) return;
  CronView view{context,
                *cron_job,
                *job_kind,
                owned_by(context, *job_kind, *cron_job),
                list_at(*cron_job, {"status", "active"}).get<std::vector<Json>>(),
                seconds_at(*cron_job, {"status", "lastScheduleTime"}),
                str(*cron_job, {"status", "lastSuccessfulTime"})};
  follow_jobs(view);
  if (!is_deleting(*cron_job)) {
    keep_schedule(view);
    forget_old_jobs(view);
  }
  change(context, *kind, *cron_job, as_controller(kComponent, "status"), [&](Json& next) {
    Json& status = at_or_make(next, {"status"});
    if (!status.is_object()) status = Json::object();
    if (view.active.empty()) {
      status.erase("active");
    } else {
      status["active"] = view.active;
    }
    if (view.last_scheduled) status["lastScheduleTime"] = format_time(instant_of(*view.last_scheduled));
    if (!view.last_successful.empty()) status["lastSuccessfulTime"] = view.last_successful;
  });
}

}  // namespace fleetadm::sandbox
