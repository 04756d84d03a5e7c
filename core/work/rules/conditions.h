// Conditions of a ManifestWork and of its manifests (docs/reference/work.md#conditions, docs/reference/work.md#condition-rules;
// docs/reference/ocm-api.md#manifestwork). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/work/rules/manifest.h"
#include "core/work/rules/readiness.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::work {

enum class Availability { kAvailable, kMissing, kUnknown };

/// What one round learned about one manifest.
struct ManifestResult {
  Json meta;                     // resourceMeta
  bool applied_now = false;      // this round tried to apply it (else its Applied condition stays as it was)
  std::optional<Error> applied;  // why that failed
  std::string failure_reason;    // "AppliedManifestFailed" where empty
  Availability availability = Availability::kUnknown;
  std::string unknown_reason;  // kUnknown: FetchingResourceFailed or IncompleteResourceMeta
  std::string unknown_message;
  bool was_read = false;                 // the object was read: feedback and rule conditions are those of this round
  bool feedback_asked = false;           // there are feedback rules for it
  Json feedback = Json::array();         // statusFeedback.values
  std::string feedback_error;            // some value could not be read
  Json rule_conditions = Json::array();  // {type, status, reason, message} of condition rules
  std::optional<Readiness> readiness;    // nullopt: nothing is said about it
};

/// status.resourceStatus.manifests after the round; `previous` is the list before it. In the order of the spec.
Json manifest_statuses(const Json& previous, const std::vector<ManifestResult>& results, std::int64_t generation, Instant now);

/// The work's conditions from its manifests' (in place, in `status`): Available, conditions aggregated from rules, and, where
/// `with_applied`, Applied. Rule conditions that no manifest has any more, or that are of an older generation, are removed.
void aggregate_conditions(Json& status, std::int64_t generation, bool with_applied, Instant now);

/// The work's readiness from its manifests', in `status`; the message names the manifest that is not ready.
void aggregate_readiness(Json& status, const std::vector<ManifestResult>& results, std::int64_t generation, Instant now);

void set_deleting(Json& status, std::int64_t generation, Instant now);

/// The condition of a type in a list of conditions, or nullptr.
const Json* condition_in(const Json& conditions, std::string_view type);
bool is_true(const Json& conditions, std::string_view type);
/// The manifest's status entry that belongs to a resourceMeta (by identity; the ordinal may have moved), or nullptr.
const Json* status_entry(const Json& manifests, const Json& meta);

}  // namespace fleetadm::work
