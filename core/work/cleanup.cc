#include "core/work/cleanup.h"

#include <utility>

#include "core/work/merge.h"
#include "core/work/names.h"
#include "kubeclient/discovery/mapper.h"

namespace fleetadm::work {
namespace {

enum class Left { kNothing, kObject };

Result<Left> drop_owner(const kube::Client& spoke, const AppliedResource& resource, const Json& live, const Owner& owner) {
  kube::WriteOptions options;
  options.field_manager = kDefaultFieldManager;
  Result<Json> patched = spoke.patch(resource.kube_resource(), resource.ns, resource.name, kube::PatchType::kMerge,
                                     owner_patch(live, owner, false), options);
  if (!patched && patched.error().category != Category::kNotFound) return tl::unexpected(patched.error());
  return Left::kNothing;
}

Result<Left> delete_object(const kube::Client& spoke, const AppliedResource& resource, const Json& live) {
  kube::DeleteOptions options;
  options.propagation = kube::Propagation::kBackground;
  options.uid = uid_of(live);
  Result<Json> removed = spoke.remove(resource.kube_resource(), resource.ns, resource.name, options);
  if (!removed) {
    if (removed.error().category == Category::kNotFound) return Left::kNothing;
    // Another object took the name between read and delete: ours is gone, and the new one is not touched.
    if (removed.error().category == Category::kConflict) return Left::kObject;
    return tl::unexpected(removed.error());
  }
  return str(*removed, {"kind"}) == "Status" ? Left::kNothing : Left::kObject;
}

/// The server does not know the path: the type may be served at another version only, or be gone with its CRD (and so are its
/// objects). A group whose discovery failed proves nothing.
Result<std::optional<AppliedResource>> at_served_version(const kube::Client& spoke, const AppliedResource& resource) {
  FLEETADM_TRY(const kube::Discovery known, kube::discover(spoke));
  for (const kube::DiscoveredResource& served : known.resources) {
    if (served.resource.group == resource.group && served.resource.plural == resource.resource) {
      AppliedResource moved = resource;
      moved.version = served.resource.version;
      return std::optional(std::move(moved));
    }
  }
  for (const std::string& group : known.failed_groups) {
    if (group == resource.group || group.starts_with(resource.group + "/")) {
      return fail(Category::kUnavailable, "discovery of the group \"" + resource.group + "\" failed");
    }
  }
  return std::optional<AppliedResource>();
}

Result<Left> remove_one(const kube::Client& spoke, AppliedResource resource, const Owner& owner,
                        const WantedElsewhere& wanted_elsewhere) {
  Result<std::optional<Json>> live = spoke.find(resource.kube_resource(), resource.ns, resource.name);
  if (!live && live.error().code == 404) {
    FLEETADM_TRY(std::optional<AppliedResource> served, at_served_version(spoke, resource));
    if (!served) return Left::kNothing;
    if (served->version == resource.version) {
      return fail(Category::kUnavailable, "the server lists " + resource.resource + " but does not serve it");
    }
    resource = std::move(*served);
    live = spoke.find(resource.kube_resource(), resource.ns, resource.name);
  }
  if (!live) return tl::unexpected(live.error());
  switch (removal_of(*live, resource.uid, owner)) {
    case Removal::kGone:
    case Removal::kKeep: return Left::kNothing;
    case Removal::kWaiting: return Left::kObject;
    case Removal::kDropOwner: return drop_owner(spoke, resource, **live, owner);
    case Removal::kDelete: {
      FLEETADM_TRY(const bool wanted, wanted_elsewhere(resource));
      return wanted ? drop_owner(spoke, resource, **live, owner) : delete_object(spoke, resource, **live);
    }
  }
  return Left::kObject;
}

}  // namespace

CleanupResult remove_resources(const kube::Client& spoke, const std::vector<AppliedResource>& resources, const Owner& owner,
                               const WantedElsewhere& wanted_elsewhere) {
  CleanupResult result;
  for (const AppliedResource& resource : resources) {
    const Result<Left> left = remove_one(spoke, resource, owner, wanted_elsewhere);
    if (!left && !result.error) result.error = left.error().wrap("cannot remove " + resource.resource + " " + resource.name);
    if (!left || *left == Left::kObject) result.remaining.push_back(resource);
  }
  return result;
}

}  // namespace fleetadm::work
