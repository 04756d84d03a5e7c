// Revisions of a ManifestWorkReplicaSet: one ControllerRevision for each template that was rolled out, beside the set and owned
// by it. It holds the template, and the clusters that the rollout began with. Upstream's controllers do not look at them. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::work {

// On the set, by people and the command line.
inline constexpr std::string_view kPausedAnnotation = "fleetadm.io/rollout-paused";    // "true"
inline constexpr std::string_view kAbortedAnnotation = "fleetadm.io/rollout-aborted";  // a revision's number
inline constexpr std::string_view kRetryAnnotation = "fleetadm.io/rollout-retry-at";   // a time: failures before it are forgiven
inline constexpr std::string_view kChangedByAnnotation = "fleetadm.io/changed-by";     // "<template hash> <who>"
// On a revision.
inline constexpr std::string_view kRevisionOfLabel = "fleetadm.io/revision-of";  // the set's name
inline constexpr std::string_view kOutcomeAnnotation = "fleetadm.io/rollout-outcome";
inline constexpr std::string_view kFinishedAnnotation = "fleetadm.io/rollout-finished-at";

inline constexpr std::string_view kOutcomeComplete = "Complete";
inline constexpr std::string_view kOutcomePartial = "Partial";  // all was tried, and what failed is within the limits
inline constexpr std::string_view kOutcomeAborted = "Aborted";
inline constexpr std::string_view kOutcomeSuperseded = "Superseded";

/// How many are kept.
inline constexpr std::size_t kRevisionLimit = 10;

/// apps/v1 controllerrevisions.
const kube::Resource& controller_revisions();

/// By placement: the clusters that a rollout began with. A placement that is not there has no fixed membership.
using Members = std::map<std::string, std::set<std::string>>;

struct Revision {
  std::int64_t number = 0;
  std::string ns;
  std::string name;
  std::string uid;
  std::string owner_uid;
  std::string hash;              // of its template
  std::string by;                // who changed the template; empty: not known
  std::int64_t copied_from = 0;  // an undo: the revision whose template it has
  std::optional<Instant> started;
  std::optional<Instant> finished;
  std::string outcome;  // empty: under way
  Members members;

  /// Everything it began with has had its turn: what has come meanwhile may follow.
  bool over() const { return outcome == kOutcomeComplete || outcome == kOutcomePartial; }
};

struct RevisionStart {
  std::int64_t number = 1;
  std::string by;
  std::int64_t copied_from = 0;
  Members members;
};
Json new_revision(const Json& set, const RevisionStart& start, Instant now);
/// Leaves the template away: for caches.
void project_revision(Json& object);
Revision decode_revision(const Json& object);
/// Those of the set (by the owner's uid), ascending.
std::vector<Revision> revisions_of(const Json& set, const std::vector<Json>& objects);

struct Control {
  bool paused = false;
  std::int64_t aborted = 0;  // the revision that was given up; 0: none
  std::optional<Instant> retry_at;
};
Control control_of(const Json& set);

/// Who last changed the template of a set as the server has it (with managedFields): what the command line noted, else the field
/// manager of the last change of the spec.
std::string changed_by(const Json& set);

}  // namespace fleetadm::work
