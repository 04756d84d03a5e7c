// A change of an add-on's configurations: what it changes and whom it reaches, worked out on what was read, then written.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/addon/plan/config_edit.h"
#include "core/addon/plan/rollout_plan.h"
#include "core/addon/rules/rollout_revisions.h"
#include "core/work/plan/removals.h"

namespace fleetadm::addon {

struct AddonChange {
  std::string addon;
  std::vector<ConfigEdit> edits;                       // written first: a reference never names what is not there
  std::function<Status(Json& declaration)> edit = {};  // of the declaration, as v1beta1
  std::map<std::string, Json> own = {};                // by cluster: spec.configs of its ManagedClusterAddOn
  RevisionNote note = {};
};

struct PreparedChange {
  AddonChange change;
  Json before;  // the declaration
  RevisionConfigs from;
  RevisionConfigs to;
  std::vector<ConfigChange> changes;  // of the declaration's configurations
  bool differs = false;               // something would be written
  bool settled = false;               // every cluster has what is rolled out now, whether the hub has noted that or not
  AddonRolloutPlan plan;
  work::Removals removals;  // objects that the clusters lose
  /// Why the template cannot be rendered for a cluster that it is to reach, the first of them.
  std::optional<Error> unrendered;
};

/// The configurations that a declaration names, with the hashes of the objects as they are.
RevisionConfigs live_configs(const ObjectReader& objects, Json declaration, const KnownTypes& known);

Result<PreparedChange> prepare_change(const AddonRolloutObjects& read, AddonChange change, Instant now,
                                      Course course = Course::kFirstStep);

/// Writes the objects, then the declaration with its revision, then the add-ons of single clusters; the declaration afterwards.
/// kConflict where one of them was changed since it was read.
Result<Json> carry_out_change(const kube::Client& hub, const PreparedChange& prepared, Instant now);

}  // namespace fleetadm::addon
