// A work of a ManifestWorkReplicaSet as the hub keeps it in its cache, and where it stands in a rollout. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/rollout/types.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::work {

/// On a work: when it was given its present spec. Deadlines run from then, or from a later change of its conditions.
inline constexpr std::string_view kBegunAnnotation = "fleetadm.io/rollout-begun-at";

struct OwnedWork {
  std::string ns;  // the cluster
  std::string name;
  std::string uid;
  std::string placement;  // its placement label
  std::map<std::string, std::string> labels;
  std::string spec_hash;  // work_spec_hash() of its spec
  std::string created;    // creationTimestamp
  std::optional<Instant> begun;
  std::int64_t generation = 0;
  bool deleting = false;
  Json conditions = Json::array();
};

/// Hash of a work's spec or a template, creationTimestamps of the manifests left out.
std::string work_spec_hash(const Json& spec);
Json without_timestamps(Json spec);

/// Leaves of a ManifestWork what decode_work() reads: for caches.
void project_work(Json& object);
OwnedWork decode_work(const Json& projected);

/// Some rule of the template (or of a work's spec) tells when its objects are progressing.
bool defines_progressing(const Json& spec);

/// On a set: what its rollout waits for on each cluster ("applied", "available", "ready"). Without it, and with "available", as
/// upstream: applied and available, or what rules for Progressing and Degraded report.
inline constexpr std::string_view kSuccessAnnotation = "work.fleetadm.io/success-when";

enum class SuccessWhen { kApplied, kAvailable, kReady };
/// A value that is not known means kAvailable.
SuccessWhen success_when_of(const Json& set);

/// What a work with the wanted spec has to report.
struct Criterion {
  bool needs_progressing = false;  // defines_progressing()
  SuccessWhen success = SuccessWhen::kAvailable;
};
Criterion criterion_of(const Json& set);

struct Verdict {
  rollout::State state = rollout::State::kProgressing;  // Progressing, Succeeded or Failed
  std::optional<Instant> since;
  std::string why;                    // the condition that is waited for, in words; empty where it succeeded
  std::string condition;              // its type
  std::optional<Instant> look_again;  // when the answer may change by itself
};

/// Where a work with the wanted spec stands (docs/reference/work.md#state-of-a-work-in-a-rollout). Otherwise than upstream, a
/// work that was written is under way: it has a deadline though its agent never answers. Without a rule for Progressing it has
/// succeeded when its objects are applied and available. kReady asks for kConditionReady in addition, unless the work's agent
/// does not report it, as upstream's agents do not. A failure from before `retry_at` is given another minute.
Verdict judge_work(const OwnedWork& work, const Criterion& criterion, const std::optional<Instant>& retry_at, Instant now);

/// Whether a work with an older spec is still being worked on, or has failed: it holds its place among those that are changed at
/// once, and is the first to get the new spec.
bool unsettled(const OwnedWork& work, SuccessWhen success);

}  // namespace fleetadm::work
