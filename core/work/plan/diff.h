// Differences for people: the live object against what its work would make of it, field by field, with the owner of each field;
// and the manifests of a work against other ones. Values of Secrets are masked here, before anything can print them. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/work/rules/manifest.h"
#include "kubeclient/base/json.h"

namespace fleetadm::work {

struct FieldChange {
  std::string path;     // "spec.template.spec.containers[name=web].image"
  Json before;          // null: absent
  Json after;           // null: absent
  std::string manager;  // who wrote `before`, from managedFields ("kubectl-scale"); empty: not known, or no one
  bool operator==(const FieldChange&) const = default;
};

enum class ObjectState { kSame, kChanged, kMissing, kAdded, kRemoved, kUnreadable };
std::string_view word_of(ObjectState state);  // "same", "changed", …

struct ObjectChange {
  std::string object;  // "deployments.apps default/web"
  ObjectState state = ObjectState::kSame;
  std::vector<FieldChange> fields;  // kChanged
  std::string note;                 // what the agent will not do about it, or why it is unreadable
};

/// Members that differ, in the order of `before` and then `after`. Elements of lists are matched by name where all have one.
std::vector<FieldChange> field_changes(const Json& before, const Json& after);

/// What the agent would write over `live` (nullopt: there is none), by the same rules as it does (merge.h), owner references
/// left out.
ObjectChange drift_of(const Manifest& manifest, const ManifestOptions& options, const std::optional<Json>& live);

/// The manifests of a work, before and after a change of it, by identity; those that stay the same are left out.
std::vector<ObjectChange> manifest_changes(const Json& before, const Json& after);

/// "v1 ConfigMap default/a": the same for the same object, whatever else it says.
std::string manifest_identity(const Json& manifest);

Json to_json(const ObjectChange& change);

}  // namespace fleetadm::work
