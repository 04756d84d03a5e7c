// Who owns an object on the spoke, and what happens to it when a work no longer wants it (docs/reference/work.md). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::work {

/// The AppliedManifestWork that stands for a work on the spoke.
struct Owner {
  std::string name;
  std::string uid;

  /// The owner reference (not a controller reference).
  Json reference() const;
};

bool has_owner(const Json& object, const Owner& owner);
/// `references` (metadata.ownerReferences) with this owner added or removed; others are kept as they are.
Json with_owner(const Json& references, const Owner& owner);
Json without_owner(const Json& references, const Owner& owner);

/// One entry of AppliedManifestWork.status.appliedResources.
struct AppliedResource {
  std::string group;
  std::string version;
  std::string resource;
  std::string ns;
  std::string name;
  std::string uid;

  Json to_json() const;
  static AppliedResource from_json(const Json& entry);
  /// The same place on the cluster, whichever uid or version lives there.
  bool same_place(const AppliedResource& other) const;
  kube::Resource kube_resource() const;
  auto operator<=>(const AppliedResource&) const = default;
};
/// Sorted as a list in the status.
Json inventory_json(std::vector<AppliedResource> resources);
std::vector<AppliedResource> inventory_of(const Json& applied_work);

/// What to do with an object that the owner no longer wants.
enum class Removal {
  kGone,       // absent, or another object has its name now: nothing to do
  kWaiting,    // already being deleted
  kDelete,     // delete it, with its uid as precondition
  kDropOwner,  // another work owns it too: only this owner's reference goes
  kKeep,       // it is not ours (orphaned, or never owned): it stays
};
Removal removal_of(const std::optional<Json>& live, const std::string& uid, const Owner& owner);

}  // namespace fleetadm::work
