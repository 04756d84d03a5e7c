// Deployments, ReplicaSets, DaemonSets, StatefulSets, Jobs and CronJobs.
#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "core/sandbox/cron/schedule.h"
#include "core/sandbox/kinds/kind_rules.h"
#include "core/sandbox/kinds/pod_checks.h"
#include "core/sandbox/validation/update_rules.h"
#include "kubeclient/base/query_selectors.h"

namespace fleetadm::sandbox {
namespace {

constexpr std::size_t kLongestCronJob = 52;  // its Jobs append eleven characters

/// Of a pod template; `field` is where it stands.
void check_template(const Json& form, const std::string& field, std::vector<Cause>& causes) {
  auto problems = pod_spec_problems(object_at(form, {"spec"}), field + ".spec");
  causes.insert(causes.end(), std::make_move_iterator(problems.begin()), std::make_move_iterator(problems.end()));
}

void check_selector(const Json& object, bool matches_all_without, std::vector<Cause>& causes) {
  const Json* wanted = find(object, {"spec", "selector"});
  if (wanted == nullptr || wanted->is_null()) causes.push_back(required("spec.selector"));
  Labels labels;
  for (const auto& [key, value] : strings_at(object, {"spec", "template", "metadata", "labels"})) labels.emplace_back(key, value);
  const auto selector = LabelSelector::from_object(wanted);
  if (!selector) {
    causes.push_back(bad_value("spec.selector", *wanted, "invalid label selector"));
    return;
  }
  const bool fits = wanted == nullptr ? matches_all_without : selector->matches(labels);
  if (fits) return;
  causes.push_back(bad_value("spec.template.metadata.labels", strings_at(object, {"spec", "template", "metadata", "labels"}),
                             "`selector` does not match template `labels`"));
}

void check_natural(const Json& spec, const std::string& field, const char* name, std::vector<Cause>& causes) {
  if (const Json* value = find(spec, {name}); value != nullptr && value->is_number() && num(spec, {name}) < 0)
    causes.push_back(bad_value(field + "." + name, *value, "must be greater than or equal to 0"));
}

/// Of a Job's spec, and of the template of one.
void check_job_spec(const Json& spec, const std::string& field, std::vector<Cause>& causes) {
  for (const char* name : {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
                           "backoffLimitPerIndex", "maxFailedIndexes"}) {
    check_natural(spec, field, name, causes);
  }
  const bool indexed = str(spec, {"completionMode"}) == "Indexed";
  if (indexed && find(spec, {"completions"}) == nullptr)
    causes.push_back(required(field + ".completions", "when completion mode is Indexed"));
  for (const char* name : {"backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"}) {
    if (const Json* value = find(spec, {name}); value != nullptr && !indexed)
      causes.push_back(bad_value(field + "." + name, *value, "requires indexed completion mode"));
  }
  check_template(object_at(spec, {"template"}), field + ".template", causes);
  const auto at = field + ".template.spec.restartPolicy";
  const auto policy = str(spec, {"template", "spec", "restartPolicy"});
  if (policy.empty() || policy == "Always") {
    causes.push_back(required(at, "valid values: \"OnFailure\", \"Never\""));
  } else if (policy != "OnFailure" && policy != "Never") {
    causes.push_back(unsupported(at, policy, {"OnFailure", "Never"}));
  } else if (policy != "Never" && find(spec, {"podFailurePolicy"}) != nullptr) {
    causes.push_back(bad_value(at, policy, "only \"Never\" is supported when podFailurePolicy is specified"));
  }
}

/// A job finds its pods by its own uid.
void select_by_uid(Json& job) {
  const auto uid = uid_of(job);
  for (const char* prefix : {"", "batch.kubernetes.io/"}) {
    at_or_make(job, {"spec", "template", "metadata", "labels", std::string(prefix) + "controller-uid"}) = uid;
    at_or_make(job, {"spec", "template", "metadata", "labels", std::string(prefix) + "job-name"}) = name_of(job);
  }
  at_or_make(job, {"spec", "selector", "matchLabels", "batch.kubernetes.io/controller-uid"}) = uid;
}

/// Who gives no labels gets those of the template; Kubernetes' newer kinds do without.
void take_template_labels(Json& object) {
  const Json labels = object_at(object, {"spec", "template", "metadata", "labels"});
  if (!labels.empty() && object_at(object, {"metadata", "labels"}).empty()) at_or_make(object, {"metadata", "labels"}) = labels;
}

/// An annotation of DaemonSets counts the changes of their template.
void count_templates(Json& set, const Json* old) {
  constexpr const char* kTemplates = "deprecated.daemonset.template.generation";
  const auto before = old == nullptr ? 0 : std::strtoll(annotation_of(*old, kTemplates).c_str(), nullptr, 10);
  const bool same = old != nullptr && object_at(*old, {"spec", "template"}) == object_at(set, {"spec", "template"});
  at_or_make(set, {"metadata", "annotations", kTemplates}) = std::to_string(same ? std::max(before, 1LL) : before + 1);
}

/// Problems of what runs on and on.
std::vector<Cause> running_problems(const Json& object) {
  std::vector<Cause> causes;
  for (const char* name : {"replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"})
    check_natural(object_at(object, {"spec"}), "spec", name, causes);
  check_template(object_at(object, {"spec", "template"}), "spec.template", causes);
  if (const auto policy = str(object, {"spec", "template", "spec", "restartPolicy"}, "Always"); policy != "Always")
    causes.push_back(unsupported("spec.template.spec.restartPolicy", policy, {"Always"}));
  return causes;
}

std::vector<Cause> selecting_problems(const Json& object) {
  auto causes = running_problems(object);
  check_selector(object, true, causes);
  return causes;
}

std::vector<Cause> job_problems(const Json& job) {
  std::vector<Cause> causes;
  check_job_spec(object_at(job, {"spec"}), "spec", causes);
  check_selector(job, false, causes);
  return causes;
}

ApiStatus told(const StrategyContext& context, const Json& object, const std::vector<Cause>& causes) {
  if (causes.empty()) return {};
  return invalid(context.kind, name_of(object), causes);
}

/// In what workloads differ.
struct Workload {
  std::vector<Cause> (*problems)(const Json& object) = selecting_problems;
  /// What the server adds to it; `old` null of a create.
  void (*complete)(Json& object, const Json* old) = nullptr;
};

Strategy workload_strategy(Workload own = {}) {
  Strategy out;
  out.create = [own](const StrategyContext& context, Json& object) -> ApiStatus {
    if (own.complete != nullptr) own.complete(object, nullptr);
    return told(context, object, own.problems(object));
  };
  out.update = [own](const StrategyContext& context, Json& object, const Json& old) -> ApiStatus {
    if (!context.options.subresource.empty()) return {};  // the spec stays as it was
    if (own.complete != nullptr) own.complete(object, &old);
    auto causes = own.problems(object);
    for (auto& cause : update_problems(context.kind, object, old)) causes.push_back(std::move(cause));
    return told(context, object, causes);
  };
  return out;
}

void complete_job(Json& job, const Json* old) {
  if (old != nullptr) return;
  if (!flag(job, {"spec", "manualSelector"})) select_by_uid(job);
  take_template_labels(job);
}

void complete_replication_controller(Json& object, const Json* old) {
  if (old == nullptr) take_template_labels(object);
}

void check_schedule(const Json& cron_job, const Json* old, std::vector<Cause>& causes) {
  const auto text = str(cron_job, {"spec", "schedule"});
  if (text.empty()) {
    causes.push_back(required("spec.schedule"));
    return;
  }
  const bool has_zone = text.find("TZ") != std::string::npos;
  const bool had_zone = old != nullptr && str(*old, {"spec", "schedule"}).find("TZ") != std::string::npos;
  if (const auto schedule = cron::Schedule::parse(text); !schedule)
    causes.push_back(bad_value("spec.schedule", text, schedule.error().message));
  if (has_zone && had_zone && find(cron_job, {"spec", "timeZone"}) != nullptr)
    causes.push_back(bad_value("spec.schedule", text, "cannot use both timeZone field and TZ or CRON_TZ in schedule"));
  if (has_zone && !had_zone)
    causes.push_back(bad_value("spec.schedule", text, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"));
}

void check_time_zone(const Json& cron_job, const Json* old, std::vector<Cause>& causes) {
  const Json* given = find(cron_job, {"spec", "timeZone"});
  const auto name = str(cron_job, {"spec", "timeZone"});
  if (given == nullptr) return;
  if (old != nullptr && find(*old, {"spec", "timeZone"}) != nullptr && str(*old, {"spec", "timeZone"}) == name) return;
  if (name.empty()) {
    causes.push_back(bad_value("spec.timeZone", *given, "timeZone must be nil or non-empty string"));
  } else if (name == "Local") {
    causes.push_back(bad_value("spec.timeZone", *given,
                               "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"));
  } else if (const auto zone = TimeZone::load(name); !zone) {
    causes.push_back(bad_value("spec.timeZone", *given, zone.error().message));
  }
}

std::vector<Cause> cron_job_problems(const Json& cron_job, const Json* old) {
  std::vector<Cause> causes;
  const Json& spec = object_at(cron_job, {"spec"});
  check_schedule(cron_job, old, causes);
  check_natural(spec, "spec", "startingDeadlineSeconds", causes);
  check_time_zone(cron_job, old, causes);
  const auto policy = str(spec, {"concurrencyPolicy"});
  if (policy != "Allow" && policy != "Forbid" && policy != "Replace")
    causes.push_back(unsupported("spec.concurrencyPolicy", policy, {"Allow", "Forbid", "Replace"}));
  const Json& job = object_at(spec, {"jobTemplate", "spec"});
  check_job_spec(job, "spec.jobTemplate.spec", causes);
  if (const Json* selector = find(job, {"selector"}))
    causes.push_back(bad_value("spec.jobTemplate.spec.selector", *selector, "`selector` will be auto-generated"));
  if (flag(job, {"manualSelector"}))
    causes.push_back(unsupported("spec.jobTemplate.spec.manualSelector", true, {"nil", "false"}));
  for (const char* name : {"successfulJobsHistoryLimit", "failedJobsHistoryLimit"}) check_natural(spec, "spec", name, causes);
  if (old == nullptr && name_of(cron_job).size() > kLongestCronJob)
    causes.push_back(bad_value("metadata.name", name_of(cron_job), "must be no more than 52 characters"));
  return causes;
}

Strategy cron_job_strategy() {
  Strategy out;
  out.create = [](const StrategyContext& context, Json& object) -> ApiStatus {
    return told(context, object, cron_job_problems(object, nullptr));
  };
  out.update = [](const StrategyContext& context, Json& object, const Json& old) -> ApiStatus {
    if (!context.options.subresource.empty()) return {};
    return told(context, object, cron_job_problems(object, &old));
  };
  return out;
}

}  // namespace

void set_workload_strategies(Engine& engine) {
  for (const char* storage : {"apps/replicasets", "apps/statefulsets"}) engine.set_strategy(storage, workload_strategy());
  engine.set_strategy("apps/daemonsets", workload_strategy({.complete = count_templates}));
  engine.set_strategy("batch/jobs", workload_strategy({.problems = job_problems, .complete = complete_job}));
  engine.set_strategy("/replicationcontrollers",
                      workload_strategy({.problems = running_problems, .complete = complete_replication_controller}));
  // Of Deployments annotations count, too, but for those of their controller.
  Strategy deployments = workload_strategy();
  deployments.counts_generation = [](const StrategyContext& context, const Json& object, const Json& old) {
    return !context.options.internal &&
           object_at(object, {"metadata", "annotations"}) != object_at(old, {"metadata", "annotations"});
  };
  engine.set_strategy("apps/deployments", std::move(deployments));
  engine.set_strategy("batch/cronjobs", cron_job_strategy());
}

}  // namespace fleetadm::sandbox
