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

struct Verdict {
  rollout::State state = rollout::State::kProgressing;  // Progressing, Succeeded or Failed
  std::optional<Instant> since;
  std::string why;                    // the condition that is waited for, in words; empty where it succeeded
  std::string condition;              // its type
  std::optional<Instant> look_again;  // when the answer may change by itself
};

/// Where a work with the wanted spec stands (reference placement-and-rollout.md B.7.3). Otherwise than upstream, a work that was
/// written is under way: it has a deadline though its agent never answers. Without a rule for Progressing it has succeeded when
/// its objects are applied and available. A failure from before `retry_at` is given another minute.
Verdict judge_work(const OwnedWork& work, bool needs_progressing, const std::optional<Instant>& retry_at, Instant now);

/// Whether a work with an older spec is still being worked on, or has failed: it holds its place among those that are changed at
/// once, and is the first to get the new spec.
bool unsettled(const OwnedWork& work);

}  // namespace fleetadm::work
