#include "core/work/rules/replica_set_state.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::work {
namespace {

using rollout::State;

constexpr Duration kSecondChance = std::chrono::minutes(1);

/// A condition as of the work's present generation.
struct Seen {
  const Json* entry = nullptr;
  bool stale = false;  // it is there, of another generation

  bool is(std::string_view status) const { return entry != nullptr && str(*entry, {"status"}) == status; }
};

Seen seen(const OwnedWork& work, std::string_view type) {
  const Json* found = condition_in(work.conditions, type);
  if (found == nullptr) return {};
  if (num(*found, {"observedGeneration"}) != work.generation) return {nullptr, true};
  return {found, false};
}

std::optional<Instant> latest(std::initializer_list<std::optional<Instant>> times) {
  std::optional<Instant> last;
  for (const std::optional<Instant>& at : times) {
    if (at && (!last || *at > *last)) last = at;
  }
  return last;
}

std::optional<Instant> changed(const Seen& condition) {
  return condition.entry == nullptr ? std::nullopt : parse_time(str(*condition.entry, {"lastTransitionTime"}));
}

std::string in_words(std::string_view type, const Seen& condition) {
  if (condition.entry == nullptr) return std::string(type) + " is not reported yet";
  std::string text = std::string(type) + " is " + str(*condition.entry, {"status"});
  if (const std::string message = str(*condition.entry, {"message"}); !message.empty()) text += ": " + message;
  return text;
}

/// The verdict by upstream's conditions alone.
Verdict by_conditions(const OwnedWork& work, const Criterion& criterion) {
  const std::optional<Instant> base = latest({work.begun, parse_time(work.created)});
  const auto waiting = [&](std::string_view type, const Seen& on, State state = State::kProgressing) {
    return Verdict{state, latest({base, changed(on)}), in_words(type, on), std::string(type), std::nullopt};
  };
  if (work.deleting) return {State::kProgressing, base, "the work is being deleted", {}, std::nullopt};
  const Seen applied = seen(work, kConditionApplied);
  if (!applied.is("True")) {
    return waiting(kConditionApplied, applied, applied.is("False") ? State::kFailed : State::kProgressing);
  }
  if (criterion.success == SuccessWhen::kApplied)
    return {State::kSucceeded, latest({base, changed(applied)}), {}, {}, std::nullopt};
  const Seen degraded = seen(work, kConditionDegraded);
  if (degraded.stale) return waiting(kConditionDegraded, degraded);
  const Seen progressing = seen(work, kConditionProgressing);
  if (progressing.entry != nullptr) {
    if (progressing.is("True") && degraded.is("True")) return waiting(kConditionDegraded, degraded, State::kFailed);
    if (!progressing.is("False")) return waiting(kConditionProgressing, progressing);
    return {State::kSucceeded, latest({base, changed(progressing)}), {}, {}, std::nullopt};
  }
  if (criterion.needs_progressing || progressing.stale) return waiting(kConditionProgressing, progressing);
  if (degraded.is("True")) return waiting(kConditionDegraded, degraded, State::kFailed);
  const Seen available = seen(work, kConditionAvailable);
  if (!available.is("True")) return waiting(kConditionAvailable, available);
  return {State::kSucceeded, latest({base, changed(applied), changed(available)}), {}, {}, std::nullopt};
}

/// What is left of success while the objects are not ready.
Verdict with_readiness(const OwnedWork& work, Verdict verdict) {
  const Seen ready = seen(work, kConditionReady);
  if (ready.entry == nullptr && !ready.stale) return verdict;  // its agent does not report it
  verdict.since = latest({verdict.since, changed(ready)});
  if (ready.is("True")) return verdict;
  verdict.state = ready.entry != nullptr && str(*ready.entry, {"reason"}) == kReasonFailed ? State::kFailed : State::kProgressing;
  verdict.condition = kConditionReady;
  verdict.why = in_words("Ready", ready);
  return verdict;
}

}  // namespace

Json without_timestamps(Json spec) {
  const auto workload = spec.find("workload");
  if (workload == spec.end() || !workload->is_object()) return spec;
  const auto manifests = workload->find("manifests");
  if (manifests == workload->end() || !manifests->is_array()) return spec;
  for (Json& manifest : *manifests) {
    erase_at(manifest, {"metadata", "creationTimestamp"});
    erase_at(manifest, {"spec", "template", "metadata", "creationTimestamp"});
  }
  return spec;
}

std::string work_spec_hash(const Json& spec) {
  return sha256_hex(dump_json(spec.is_object() ? without_timestamps(spec) : Json::object())).substr(0, 32);
}

void project_work(Json& object) {
  Json kept = Json::object();
  Json metadata = Json::object();
  for (const char* key :
       {"name", "namespace", "uid", "resourceVersion", "labels", "generation", "creationTimestamp", "deletionTimestamp"}) {
    if (const Json* value = find(object, {"metadata", key})) metadata[key] = *value;
  }
  kept["metadata"] = std::move(metadata);
  kept["specHash"] = work_spec_hash(object_at(object, {"spec"}));
  kept["begun"] = annotation_of(object, kBegunAnnotation);
  kept["conditions"] = list_at(object, {"status", "conditions"});
  object = std::move(kept);
}

OwnedWork decode_work(const Json& kept) {
  OwnedWork work;
  work.ns = namespace_of(kept);
  work.name = name_of(kept);
  work.uid = uid_of(kept);
  work.labels = strings_at(kept, {"metadata", "labels"});
  work.placement = label_of(kept, kPlacementNameLabel);
  work.spec_hash = str(kept, {"specHash"});
  work.created = str(kept, {"metadata", "creationTimestamp"});
  work.begun = parse_time(str(kept, {"begun"}));
  work.generation = num(kept, {"metadata", "generation"});
  work.deleting = is_deleting(kept);
  work.conditions = list_at(kept, {"conditions"});
  return work;
}

bool defines_progressing(const Json& spec) {
  for (const Json& config : list_at(spec, {"manifestConfigs"})) {
    for (const Json& rule : list_at(config, {"conditionRules"})) {
      if (str(rule, {"condition"}) == kConditionProgressing) return true;
    }
  }
  return false;
}

SuccessWhen success_when_of(const Json& set) {
  const std::string text = annotation_of(set, kSuccessAnnotation);
  if (text == "ready") return SuccessWhen::kReady;
  return text == "applied" ? SuccessWhen::kApplied : SuccessWhen::kAvailable;
}

Criterion criterion_of(const Json& set) {
  return {defines_progressing(object_at(set, {"spec", "manifestWorkTemplate"})), success_when_of(set)};
}

Verdict judge_work(const OwnedWork& work, const Criterion& criterion, const std::optional<Instant>& retry_at, Instant now) {
  Verdict verdict = by_conditions(work, criterion);
  if (verdict.state == State::kSucceeded && criterion.success == SuccessWhen::kReady)
    verdict = with_readiness(work, std::move(verdict));
  if (!retry_at || verdict.state == State::kSucceeded) return verdict;
  if (verdict.state == State::kProgressing) {
    verdict.since = latest({verdict.since, retry_at});
  } else if (verdict.since.value_or(*retry_at) <= *retry_at && now < *retry_at + kSecondChance) {
    verdict.state = State::kProgressing;
    verdict.since = retry_at;
    verdict.look_again = *retry_at + kSecondChance;
  }
  return verdict;
}

bool unsettled(const OwnedWork& work, SuccessWhen success) {
  return judge_work(work, {false, success}, std::nullopt, Instant{}).state != State::kSucceeded;
}

}  // namespace fleetadm::work
