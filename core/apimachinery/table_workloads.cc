// Rows of workloads. A cell that has nothing to say is "<none>", "<unset>" or empty, as the real server has it.
#include <algorithm>
#include <set>

#include "core/apimachinery/table_cells.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::apimachinery {
namespace {

/// What a waiting or ended container says of its pod; empty where it runs.
std::string container_reason(const Json& status) {
  if (const Json* waiting = find(status, {"state", "waiting"})) return str(*waiting, {"reason"});
  const Json* ended = find(status, {"state", "terminated"});
  if (ended == nullptr) return {};
  if (const std::string reason = str(*ended, {"reason"}); !reason.empty()) return reason;
  const auto signal = num(*ended, {"signal"});
  return signal != 0 ? "Signal:" + std::to_string(signal) : "ExitCode:" + std::to_string(num(*ended, {"exitCode"}));
}

struct PodSummary {
  std::string reason;
  std::int64_t ready = 0, total = 0, restarts = 0;
  std::optional<Instant> last_restart;
};

/// Init containers that go on beside the others.
std::set<std::string> sidecars_of(const Json& pod) {
  std::set<std::string> names;
  for (const Json& container : list_at(pod, {"spec", "initContainers"})) {
    if (str(container, {"restartPolicy"}) == "Always") names.insert(str(container, {"name"}));
  }
  return names;
}

void count_restarts(PodSummary& summary, const Json& status) {
  summary.restarts += num(status, {"restartCount"});
  const auto at = parse_time(str(status, {"lastState", "terminated", "finishedAt"}));
  if (at && (!summary.last_restart || *summary.last_restart < *at)) summary.last_restart = at;
}

/// What the first init container that is not done says; false where all are.
bool summarize_init(const Json& pod, const std::set<std::string>& sidecars, PodSummary& summary, PodSummary& of_sidecars) {
  std::size_t index = 0;
  for (const Json& status : list_at(pod, {"status", "initContainerStatuses"})) {
    ++index;
    count_restarts(summary, status);
    const bool sidecar = sidecars.contains(str(status, {"name"}));
    if (sidecar) count_restarts(of_sidecars, status);
    const Json* ended = find(status, {"state", "terminated"});
    if (ended != nullptr && num(*ended, {"exitCode"}) == 0) continue;
    if (sidecar && flag(status, {"started"})) {
      if (flag(status, {"ready"})) ++summary.ready;
      continue;
    }
    const std::string reason = container_reason(status);
    if (ended != nullptr || (!reason.empty() && reason != "PodInitializing")) {
      summary.reason = "Init:" + reason;
    } else {
      summary.reason =
          "Init:" + std::to_string(index - 1) + "/" + std::to_string(list_at(pod, {"spec", "initContainers"}).size());
    }
    return true;
  }
  return false;
}

void summarize_containers(const Json& pod, PodSummary& summary) {
  bool any_running = false;
  std::string error;
  const Json& statuses = list_at(pod, {"status", "containerStatuses"});
  for (std::size_t i = statuses.size(); i-- > 0;) {
    const Json& status = statuses[i];
    count_restarts(summary, status);
    if (const std::string reason = container_reason(status); !reason.empty()) {
      summary.reason = reason;
      if (num(status, {"state", "terminated", "exitCode"}) != 0) error = reason;
    } else if (flag(status, {"ready"}) && find(status, {"state", "running"}) != nullptr) {
      any_running = true;
      ++summary.ready;
    }
  }
  if (summary.reason != "Completed") return;
  if (any_running && is_true(pod, "Ready")) {
    summary.reason = "Running";
  } else if (!error.empty()) {
    summary.reason = error;
  } else if (any_running) {
    summary.reason = "NotReady";
  }
}

PodSummary summary_of(const Json& pod) {
  const auto sidecars = sidecars_of(pod);
  PodSummary summary;
  summary.total = static_cast<std::int64_t>(list_at(pod, {"spec", "containers"}).size() + sidecars.size());
  summary.reason = or_else(str(pod, {"status", "reason"}), str(pod, {"status", "phase"}));
  const Json* scheduled = condition_of(pod, "PodScheduled");
  if (scheduled != nullptr && str(*scheduled, {"reason"}) == "SchedulingGated") summary.reason = "SchedulingGated";
  PodSummary of_sidecars;
  const bool initialising = summarize_init(pod, sidecars, summary, of_sidecars);
  if (!initialising || is_true(pod, "Initialized")) {
    summary.restarts = of_sidecars.restarts;
    summary.last_restart = of_sidecars.last_restart;
    summarize_containers(pod, summary);
  }
  if (!is_deleting(pod)) return summary;
  const std::string phase = str(pod, {"status", "phase"});
  if (str(pod, {"status", "reason"}) == "NodeLost") {
    summary.reason = "Unknown";
  } else if (phase != "Succeeded" && phase != "Failed") {
    summary.reason = "Terminating";
  }
  return summary;
}

Json pod_cells(const Json& pod, Instant now) {
  const PodSummary summary = summary_of(pod);
  std::string restarts = std::to_string(summary.restarts);
  if (summary.restarts != 0 && summary.last_restart) restarts += " (" + format_age(*summary.last_restart, now) + " ago)";
  std::string gates = "<none>";
  if (const Json& wanted = list_at(pod, {"spec", "readinessGates"}); !wanted.empty()) {
    const auto met =
        std::count_if(wanted.begin(), wanted.end(), [&](const Json& gate) { return is_true(pod, str(gate, {"conditionType"})); });
    gates = std::to_string(met) + "/" + std::to_string(wanted.size());
  }
  const Json& ips = list_at(pod, {"status", "podIPs"});
  return {name_of(pod),
          std::to_string(summary.ready) + "/" + std::to_string(summary.total),
          summary.reason,
          restarts,
          age_of(pod, now),
          ips.empty() ? "<none>" : str(ips.front(), {"ip"}),
          or_else(str(pod, {"spec", "nodeName"})),
          or_else(str(pod, {"status", "nominatedNodeName"})),
          gates};
}

Json deployment_cells(const Json& object, Instant now) {
  Json cells = {
      name_of(object),
      std::to_string(num(object, {"status", "readyReplicas"})) + "/" + std::to_string(num(object, {"spec", "replicas"})),
      num(object, {"status", "updatedReplicas"}), num(object, {"status", "availableReplicas"}), age_of(object, now)};
  add_containers(cells, template_spec(object));
  cells.push_back(selector_text(find(object, {"spec", "selector"})));
  return cells;
}

Json replica_set_cells(const Json& object, Instant now) {
  Json cells = {name_of(object), num(object, {"spec", "replicas"}), num(object, {"status", "replicas"}),
                num(object, {"status", "readyReplicas"}), age_of(object, now)};
  add_containers(cells, template_spec(object));
  const bool old_kind = str(object, {"kind"}) == "ReplicationController";
  cells.push_back(old_kind ? labels_text(object_at(object, {"spec", "selector"}))
                           : selector_text(find(object, {"spec", "selector"})));
  return cells;
}

Json stateful_set_cells(const Json& object, Instant now) {
  Json cells = {
      name_of(object),
      std::to_string(num(object, {"status", "readyReplicas"})) + "/" + std::to_string(num(object, {"spec", "replicas"})),
      age_of(object, now)};
  add_containers(cells, template_spec(object));
  return cells;
}

Json daemon_set_cells(const Json& object, Instant now) {
  Json cells = {name_of(object),
                num(object, {"status", "desiredNumberScheduled"}),
                num(object, {"status", "currentNumberScheduled"}),
                num(object, {"status", "numberReady"}),
                num(object, {"status", "updatedNumberScheduled"}),
                num(object, {"status", "numberAvailable"}),
                labels_text(object_at(object, {"spec", "template", "spec", "nodeSelector"})),
                age_of(object, now)};
  add_containers(cells, template_spec(object));
  cells.push_back(selector_text(find(object, {"spec", "selector"})));
  return cells;
}

Json job_cells(const Json& object, Instant now) {
  std::string completions = std::to_string(num(object, {"status", "succeeded"}));
  if (find(object, {"spec", "completions"}) != nullptr) {
    completions += "/" + std::to_string(num(object, {"spec", "completions"}));
  } else {
    const auto parallel = num(object, {"spec", "parallelism"});
    completions += parallel > 1 ? "/1 of " + std::to_string(parallel) : "/1";
  }
  std::string duration;
  if (const auto start = parse_time(str(object, {"status", "startTime"}))) {
    const auto end = parse_time(str(object, {"status", "completionTime"}));
    duration = format_age(*start, end ? *end : now);
  }
  std::string status = "Running";
  if (is_true(object, "Complete")) {
    status = "Complete";
  } else if (is_true(object, "Failed")) {
    status = "Failed";
  } else if (is_deleting(object)) {
    status = "Terminating";
  } else if (is_true(object, "Suspended")) {
    status = "Suspended";
  } else if (is_true(object, "FailureTarget")) {
    status = "FailureTarget";
  } else if (is_true(object, "SuccessCriteriaMet")) {
    status = "SuccessCriteriaMet";
  }
  Json cells = {name_of(object), status, completions, duration, age_of(object, now)};
  add_containers(cells, template_spec(object));
  cells.push_back(selector_text(find(object, {"spec", "selector"})));
  return cells;
}

Json cron_job_cells(const Json& object, Instant now) {
  Json cells = {
      name_of(object),
      str(object, {"spec", "schedule"}),
      or_else(str(object, {"spec", "timeZone"})),
      flag(object, {"spec", "suspend"}) ? "True" : "False",
      list_at(object, {"status", "active"}).size(),
      find(object, {"status", "lastScheduleTime"}) == nullptr ? "<none>" : age_of(object, now, {"status", "lastScheduleTime"}),
      age_of(object, now)};
  add_containers(cells, object_at(object, {"spec", "jobTemplate", "spec", "template", "spec"}));
  cells.push_back(selector_text(find(object, {"spec", "jobTemplate", "spec", "selector"})));
  return cells;
}
Json disruption_cells(const Json& object, Instant now) {
  return {name_of(object), int_or_text(object, {"spec", "minAvailable"}, "N/A"),
          int_or_text(object, {"spec", "maxUnavailable"}, "N/A"), num(object, {"status", "disruptionsAllowed"}),
          age_of(object, now)};
}

/// "current/target" of one metric, by the member that describes it: an average value, a share of what is asked for, or a value.
std::string metric_text(const Json& wanted, const Json* seen, bool of_resource) {
  const auto current = [&](const char* field) {
    return seen == nullptr ? std::string("<unknown>") : int_or_text(*seen, {"current", field}, "<unknown>");
  };
  if (const Json* average = find(wanted, {"target", "averageValue"}))
    return current("averageValue") + "/" + (average->is_string() ? average->get<std::string>() : dump_json(*average));
  if (!of_resource) return current("value") + "/" + int_or_text(wanted, {"target", "value"}, "0");
  std::string share = current("averageUtilization");
  if (share != "<unknown>") share += "%";
  const auto target = num(wanted, {"target", "averageUtilization"}, -1);
  return share + "/" + (target < 0 ? std::string("<auto>") : std::to_string(target) + "%");
}

std::string metrics_text(const Json& metrics, const Json& statuses) {
  constexpr std::size_t kShown = 2;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const std::string type = str(metrics[i], {"type"});
    const char* member = type == "Resource"            ? "resource"
                         : type == "ContainerResource" ? "containerResource"
                         : type == "Pods"              ? "pods"
                         : type == "Object"            ? "object"
                                                       : "external";
    const bool of_resource = type == "Resource" || type == "ContainerResource";
    const Json& wanted = object_at(metrics[i], {member});
    const Json* seen = i < statuses.size() ? find(statuses[i], {member}) : nullptr;
    std::string text = metric_text(wanted, seen, of_resource);
    if (of_resource) text = str(wanted, {"name"}) + ": " + text;
    const bool average = find(wanted, {"target", "averageValue"}) != nullptr;
    if (average && (type == "Object" || type == "External")) text += " (avg)";
    texts.push_back(std::move(text));
  }
  const std::size_t more = texts.size() > kShown ? texts.size() - kShown : 0;
  if (more > 0) texts.resize(kShown);
  return or_else(joined(texts, ", ")) + (more > 0 ? " + " + std::to_string(more) + " more..." : "");
}

Json autoscaler_cells(const Json& object, Instant now) {
  std::string targets = metrics_text(list_at(object, {"spec", "metrics"}), list_at(object, {"status", "currentMetrics"}));
  // Version 1 knows the processors' share alone.
  if (const Json* share = find(object, {"spec", "targetCPUUtilizationPercentage"})) {
    std::string current = int_or_text(object, {"status", "currentCPUUtilizationPercentage"}, "<unknown>");
    if (current != "<unknown>") current += "%";
    targets = "cpu: " + current + "/" + dump_json(*share) + "%";
  }
  return {name_of(object),
          str(object, {"spec", "scaleTargetRef", "kind"}) + "/" + str(object, {"spec", "scaleTargetRef", "name"}),
          targets,
          int_or_text(object, {"spec", "minReplicas"}, "<unset>"),
          num(object, {"spec", "maxReplicas"}),
          num(object, {"status", "currentReplicas"}),
          age_of(object, now)};
}

}  // namespace

void add_workload_printers(Printers& printers) {
  const auto add = [&](std::string_view group, std::string_view kind, std::vector<BuiltinColumn> columns, CellsOf cells) {
    printers.emplace(std::pair(group, kind), BuiltinPrinter(std::move(columns), cells));
  };
  add("", "Pod",
      {{"Name"},
       {"Ready"},
       {"Status"},
       {"Restarts"},
       {"Age"},
       {"IP", "string", 1},
       {"Node", "string", 1},
       {"Nominated Node", "string", 1},
       {"Readiness Gates", "string", 1}},
      pod_cells);
  add("apps", "Deployment",
      {{"Name"},
       {"Ready"},
       {"Up-to-date"},
       {"Available"},
       {"Age"},
       {"Containers", "string", 1},
       {"Images", "string", 1},
       {"Selector", "string", 1}},
      deployment_cells);
  const std::vector<BuiltinColumn> replicas{
      {"Name"}, {"Desired", "integer"},      {"Current", "integer"},  {"Ready", "integer"},
      {"Age"},  {"Containers", "string", 1}, {"Images", "string", 1}, {"Selector", "string", 1}};
  add("apps", "ReplicaSet", replicas, replica_set_cells);
  add("", "ReplicationController", replicas, replica_set_cells);
  add("apps", "StatefulSet", {{"Name"}, {"Ready"}, {"Age"}, {"Containers", "string", 1}, {"Images", "string", 1}},
      stateful_set_cells);
  add("apps", "DaemonSet",
      {{"Name"},
       {"Desired", "integer"},
       {"Current", "integer"},
       {"Ready", "integer"},
       {"Up-to-date", "integer"},
       {"Available", "integer"},
       {"Node Selector"},
       {"Age"},
       {"Containers", "string", 1},
       {"Images", "string", 1},
       {"Selector", "string", 1}},
      daemon_set_cells);
  add("apps", "ControllerRevision", {{"Name"}, {"Controller"}, {"Revision"}, {"Age"}},
      [](const Json& object, Instant now) -> Json {
        std::string owner = "<none>";
        for (const Json& reference : list_at(object, {"metadata", "ownerReferences"})) {
          if (!flag(reference, {"controller"})) continue;
          const std::string group = str(reference, {"apiVersion"});
          std::string kind = str(reference, {"kind"});
          std::transform(kind.begin(), kind.end(), kind.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
          const auto slash = group.find('/');
          owner = kind + (slash == std::string::npos ? "" : "." + group.substr(0, slash)) + "/" + str(reference, {"name"});
        }
        return {name_of(object), owner, num(object, {"revision"}), age_of(object, now)};
      });
  add("batch", "Job",
      {{"Name"},
       {"Status"},
       {"Completions"},
       {"Duration"},
       {"Age"},
       {"Containers", "string", 1},
       {"Images", "string", 1},
       {"Selector", "string", 1}},
      job_cells);
  add("batch", "CronJob",
      {{"Name"},
       {"Schedule"},
       {"Timezone"},
       {"Suspend", "boolean"},
       {"Active", "integer"},
       {"Last Schedule"},
       {"Age"},
       {"Containers", "string", 1},
       {"Images", "string", 1},
       {"Selector", "string", 1}},
      cron_job_cells);
  add("policy", "PodDisruptionBudget",
      {{"Name"}, {"Min Available"}, {"Max Unavailable"}, {"Allowed Disruptions", "integer"}, {"Age"}}, disruption_cells);
  add("autoscaling", "HorizontalPodAutoscaler",
      {{"Name"}, {"Reference"}, {"Targets"}, {"MinPods"}, {"MaxPods"}, {"Replicas"}, {"Age"}}, autoscaler_cells);
}

}  // namespace fleetadm::apimachinery
