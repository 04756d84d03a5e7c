// The revisions of an add-on's configurations: which were the default ones and those of each placement, and with what contents.
// They are kept in an annotation of the ClusterManagementAddOn, the newest last; upstream's controllers do not look at it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/addon/rules/config_reference.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::addon {

inline constexpr std::string_view kRevisionsAnnotation = "fleetadm.io/rollout-revisions";
/// At most so many revisions and bytes of them are kept: the oldest go first.
inline constexpr std::size_t kAddonRevisionLimit = 10;
inline constexpr std::size_t kRevisionBytes = 64 << 10;

/// What the specification of a declaration names. A hash is empty where the object does not exist or cannot be read.
struct RevisionConfigs {
  std::vector<DesiredConfig> defaults;
  std::map<std::string, std::vector<DesiredConfig>> placements;  // by "namespace/name", also those that name none

  bool none() const;
  /// Every hash is there: until then nothing is rolled out.
  bool known() const;
  /// Every configuration that is named.
  std::vector<DesiredConfig> all() const;
  /// Names this one instead of those of its type, among those of a placement ("namespace/name"; empty: the default ones).
  void name(const std::string& placement, const DesiredConfig& config);
  /// Names none of the type there.
  void drop(const std::string& placement, const GroupResource& type);
};
/// With the hashes of the declaration's status.
RevisionConfigs configs_now(const Json& declaration);
/// Hashes that are not known count as equal; a placement that is not there names none.
bool same_configs(const RevisionConfigs& a, const RevisionConfigs& b);

struct AddonRevision {
  std::int64_t number = 0;
  std::string by;                // who asked for it; empty: not known
  std::int64_t copied_from = 0;  // an undo: the revision whose configurations it has
  std::optional<Instant> started;
  std::optional<Instant> finished;  // every cluster had it
  bool aborted = false;
  RevisionConfigs configs;
};
/// Ascending. What cannot be read counts as none.
std::vector<AddonRevision> addon_revisions(const Json& declaration);

struct RevisionNote {
  std::string by;
  std::int64_t copied_from = 0;
  bool gives_up = false;  // the revision before it counts as aborted
};
/// Adds a revision where `configs` are not those of the newest; completes what is not known of the newest where they are. Nothing
/// is noted where no configuration is named.
void note_revision(Json& declaration, const RevisionConfigs& configs, const RevisionNote& note, Instant now);
/// The newest revision with these configurations has reached every cluster.
void finish_revision(Json& declaration, const RevisionConfigs& configs, Instant now);

/// One type of configurations in one place that differ between two revisions.
struct ConfigChange {
  std::string placement;  // empty: the default
  GroupResource type;
  std::vector<DesiredConfig> before;
  std::vector<DesiredConfig> after;

  /// "default addontemplates hello-2 -> hello-1", or "… hello: contents".
  std::string text() const;
};
/// Of a placement that is only in one of them nothing is told.
std::vector<ConfigChange> config_changes(const RevisionConfigs& before, const RevisionConfigs& after);
/// Makes the specification name `configs`. A type that they have no default of stays supported; placements that they do not know
/// stay as they are.
void set_configs(Json& declaration, const RevisionConfigs& configs);

}  // namespace fleetadm::addon
