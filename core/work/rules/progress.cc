#include "core/work/rules/progress.h"

#include <algorithm>
#include <utility>

#include "core/api/kinds.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::work {
namespace {

std::optional<Instant> since_of(const Json& condition) { return parse_time(str(condition, {"lastTransitionTime"})); }

Blocking blocking_of(const Json& condition) {
  return {str(condition, {"type"}), str(condition, {"status"}), str(condition, {"reason"}), str(condition, {"message"}),
          since_of(condition)};
}

/// The last time that anyone but the status' writer changed the work, as the server remembers it.
std::optional<Instant> changed_at(const Json& work) {
  std::optional<Instant> latest = parse_time(str(work, {"metadata", "creationTimestamp"}));
  for (const Json& entry : list_at(work, {"metadata", "managedFields"})) {
    if (!str(entry, {"subresource"}).empty() || find(entry, {"fieldsV1", "f:spec"}) == nullptr) continue;
    const std::optional<Instant> at = parse_time(str(entry, {"time"}));
    if (at && (!latest || *at > *latest)) latest = at;
  }
  return latest;
}

Blocking not_reported(const Json& work) {
  const std::string generation = std::to_string(num(work, {"metadata", "generation"}));
  return {std::string(kConditionApplied), "Unknown", "NotReported",
          "the agent has not reported generation " + generation + " yet", changed_at(work)};
}

std::string ready_cell(const Json& conditions) {
  const Json* ready = condition_in(conditions, kConditionReady);
  if (ready == nullptr) return "Unknown";
  const std::string status = str(*ready, {"status"});
  return status == "True" ? status : status + " (" + str(*ready, {"reason"}) + ")";
}

/// What the conditions of a work or of a manifest say, once it is applied.
struct ProgressVerdict {
  std::string state;
  std::optional<Instant> since;
  std::optional<Blocking> blocking;
};

ProgressVerdict verdict_of(const Json& conditions) {
  const Json* available = condition_in(conditions, kConditionAvailable);
  const bool complete = is_true(conditions, kConditionComplete);
  const auto blocked = [](std::string_view state, const Json& condition) {
    return ProgressVerdict{std::string(state), since_of(condition), blocking_of(condition)};
  };
  if (is_true(conditions, kConditionDegraded)) return blocked(kStateDegraded, *condition_in(conditions, kConditionDegraded));
  if (!complete && available == nullptr) {
    Blocking none{std::string(kConditionAvailable), "Unknown", "NotReported", "the agent has not reported availability yet", {}};
    return {std::string(kStateNotAvailable), std::nullopt, std::move(none)};
  }
  if (!complete && str(*available, {"status"}) != "True") return blocked(kStateNotAvailable, *available);
  if (is_true(conditions, kConditionProgressing)) {
    return blocked(kStateProgressing, *condition_in(conditions, kConditionProgressing));
  }
  if (const Json* ready = condition_in(conditions, kConditionReady); ready != nullptr && str(*ready, {"status"}) != "True") {
    ProgressVerdict verdict = blocked(kStateNotReady, *ready);
    verdict.blocking->condition = "Ready";
    return verdict;
  }
  if (complete) return {std::string(kStateComplete), since_of(*condition_in(conditions, kConditionComplete)), std::nullopt};
  return {std::string(kStateAvailable), since_of(*available), std::nullopt};
}

Json meta_of(const Json& manifest, std::size_t ordinal) {
  const kube::GroupVersion gv = kube::parse_api_version(str(manifest, {"apiVersion"}));
  return {{"ordinal", ordinal},
          {"group", gv.group},
          {"version", gv.version},
          {"resource", ""},
          {"name", name_of(manifest)},
          {"namespace", namespace_of(manifest)},
          {"kind", str(manifest, {"kind"})}};
}

/// The status entry of the manifest at a place of the spec; the ordinal alone may be that of an older spec.
const Json* entry_of(const Json& entries, const Json& meta) {
  for (const Json& entry : entries) {
    const Json& other = object_at(entry, {"resourceMeta"});
    const bool same_namespace = str(other, {"namespace"}) == str(meta, {"namespace"}) || str(other, {"namespace"}).empty();
    if (str(other, {"group"}) == str(meta, {"group"}) && str(other, {"kind"}) == str(meta, {"kind"}) &&
        str(other, {"name"}) == str(meta, {"name"}) && same_namespace) {
      return &entry;
    }
  }
  return nullptr;
}

ManifestProgress manifest_progress(const Json& work, const Json& manifest, std::size_t ordinal) {
  ManifestProgress progress;
  progress.meta = meta_of(manifest, ordinal);
  const Json* entry = entry_of(list_at(work, {"status", "resourceStatus", "manifests"}), progress.meta);
  if (entry != nullptr) progress.meta = object_at(*entry, {"resourceMeta"});
  const Json& conditions = entry == nullptr ? list_at(Json(), {}) : list_at(*entry, {"conditions"});
  const Json* applied = condition_in(conditions, kConditionApplied);
  progress.ready = "Unknown";
  if (applied == nullptr || num(*applied, {"observedGeneration"}) != num(work, {"metadata", "generation"})) {
    progress.state = kStatePending;
    progress.blocking = not_reported(work);
    progress.since = progress.blocking->since;
    return progress;
  }
  progress.ready = ready_cell(conditions);
  if (str(*applied, {"status"}) != "True") {
    progress.state = kStateNotApplied;
    progress.blocking = blocking_of(*applied);
    progress.since = progress.blocking->since;
    return progress;
  }
  ProgressVerdict verdict = verdict_of(conditions);
  progress.state = std::move(verdict.state);
  progress.since = verdict.since;
  progress.blocking = std::move(verdict.blocking);
  return progress;
}

Json time_or_null(const std::optional<Instant>& at) { return at ? Json(format_time(*at)) : Json(); }

Json blocking_json(const std::optional<Blocking>& blocking) {
  if (!blocking) return {};
  return {{"condition", blocking->condition},
          {"status", blocking->status},
          {"reason", blocking->reason},
          {"message", blocking->message},
          {"since", time_or_null(blocking->since)}};
}

}  // namespace

std::string ManifestProgress::describe() const {
  const std::string kind = str(meta, {"kind"});
  return (kind.empty() ? "manifest " + std::to_string(num(meta, {"ordinal"})) : kind) + " " +
         kube::object_key(str(meta, {"namespace"}), str(meta, {"name"}));
}

bool reports_readiness(const Json& work) {
  const Json* ready = condition_in(list_at(work, {"status", "conditions"}), kConditionReady);
  return ready != nullptr && num(*ready, {"observedGeneration"}) == num(work, {"metadata", "generation"});
}

std::string ready_text(const Json& work) {
  if (!reports_readiness(work)) return "Unknown";
  const Json& conditions = list_at(work, {"status", "conditions"});
  if (is_true(conditions, kConditionReady)) return "True";
  const std::string message = str(*condition_in(conditions, kConditionReady), {"message"});
  // The manifest that the work's message names has the reason.
  for (const Json& entry : list_at(work, {"status", "resourceStatus", "manifests"})) {
    const std::string name = kube::object_key(str(entry, {"resourceMeta", "namespace"}), str(entry, {"resourceMeta", "name"}));
    const Json& own = list_at(entry, {"conditions"});
    const bool named = message.starts_with(str(entry, {"resourceMeta", "kind"}) + " " + name + ": ");
    if (named && condition_in(own, kConditionReady) != nullptr) return ready_cell(own);
  }
  return ready_cell(conditions);
}

WorkProgress progress_of(const Json& work) {
  WorkProgress progress;
  progress.cluster = namespace_of(work);
  progress.name = name_of(work);
  progress.ready = ready_text(work);
  std::size_t ordinal = 0;
  for (const Json& manifest : list_at(work, {"spec", "workload", "manifests"}))
    progress.manifests.push_back(manifest_progress(work, manifest, ordinal++));

  const Json& conditions = list_at(work, {"status", "conditions"});
  const Json* applied = condition_in(conditions, kConditionApplied);
  if (is_deleting(work)) {
    progress.state = kStateDeleting;
    const Json* deleting = condition_in(conditions, kConditionDeleting);
    progress.blocking =
        Blocking{std::string(kConditionDeleting), "True", "WorkDeleting",
                 deleting == nullptr ? "the agent has not seen the deletion yet" : "the agent is removing the work's objects",
                 parse_time(str(work, {"metadata", "deletionTimestamp"}))};
  } else if (applied == nullptr || num(*applied, {"observedGeneration"}) != num(work, {"metadata", "generation"})) {
    progress.state = kStatePending;
    progress.blocking = not_reported(work);
  } else if (str(*applied, {"status"}) != "True") {
    progress.state = kStateNotApplied;
    progress.blocking = blocking_of(*applied);
  } else {
    ProgressVerdict verdict = verdict_of(conditions);
    progress.state = std::move(verdict.state);
    progress.since = verdict.since;
    progress.blocking = std::move(verdict.blocking);
  }
  if (progress.blocking) progress.since = progress.blocking->since;
  return progress;
}

std::optional<Blocking> unreachable(const Json& cluster) {
  const Json* available = condition_in(list_at(cluster, {"status", "conditions"}), api::kConditionAvailable);
  if (available == nullptr || str(*available, {"status"}) == "True") return std::nullopt;
  return blocking_of(*available);
}

void mark_unreachable(WorkProgress& progress, Blocking why) {
  progress.state = kStateUnreachable;
  progress.since = why.since;
  progress.blocking = std::move(why);
}

WorkProgress missing_work(std::string cluster, std::string name, std::string why, std::optional<Instant> since) {
  WorkProgress progress;
  progress.cluster = std::move(cluster);
  progress.name = std::move(name);
  progress.state = kStateMissing;
  progress.ready = "Unknown";
  progress.since = since;
  progress.blocking = Blocking{"", "", "NotCreated", std::move(why), since};
  return progress;
}

Json to_json(const WorkProgress& progress) {
  Json manifests = Json::array();
  for (const ManifestProgress& one : progress.manifests) {
    manifests.push_back({{"resourceMeta", one.meta},
                         {"state", one.state},
                         {"ready", one.ready},
                         {"since", time_or_null(one.since)},
                         {"blocking", blocking_json(one.blocking)}});
  }
  return {{"cluster", progress.cluster},
          {"work", progress.name},
          {"state", progress.state},
          {"ready", progress.ready},
          {"since", time_or_null(progress.since)},
          {"blocking", blocking_json(progress.blocking)},
          {"manifests", std::move(manifests)}};
}

}  // namespace fleetadm::work
