#include "core/work/agent/cleanup.h"

#include <utility>

#include "core/work/rules/merge.h"
#include "core/work/rules/names.h"
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

/// `version` empty: whichever it has by now.
Result<Left> delete_object(const kube::Client& spoke, const AppliedResource& resource, const std::string& uid,
                           const std::string& version) {
  kube::DeleteOptions options;
  options.propagation = kube::Propagation::kBackground;
  options.uid = uid;
  options.resource_version = version;
  FLEETADM_TRY(const Json removed, spoke.remove(resource.kube_resource(), resource.ns, resource.name, options));
  return str(removed, {"kind"}) == "Status" ? Left::kNothing : Left::kObject;
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

/// Deletes an object of which the watch shows that nobody else owns it; nullopt: it has to be read.
std::optional<Left> delete_as_seen(const kube::Client& spoke, const AppliedResource& resource, const Owner& owner,
                                   const WantedElsewhere& wanted_elsewhere, const ObjectWatch& watch) {
  const ObjectWatch::Observation seen = watch.look({resource.kube_resource(), resource.ns, resource.name});
  if (!seen.known || !seen.exists || resource.uid.empty() || seen.uid != resource.uid || seen.only_owner != owner.uid) return {};
  const Result<bool> wanted = wanted_elsewhere(resource);
  if (!wanted || *wanted) return {};
  const Result<Left> left = delete_object(spoke, resource, seen.uid, seen.resource_version);
  return left ? std::optional(*left) : std::nullopt;
}

Result<Left> remove_read(const kube::Client& spoke, AppliedResource resource, const Owner& owner,
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
      if (wanted) return drop_owner(spoke, resource, **live, owner);
      Result<Left> left = delete_object(spoke, resource, uid_of(**live), {});
      if (left || left.error().category != Category::kConflict) {
        return !left && left.error().category == Category::kNotFound ? Result<Left>(Left::kNothing) : left;
      }
      // Another object took the name between read and delete: ours is gone, and the new one is not touched.
      return Left::kObject;
    }
  }
  return Left::kObject;
}

}  // namespace

CleanupResult remove_resources(const kube::Client& spoke, const std::vector<AppliedResource>& resources, const Owner& owner,
                               const WantedElsewhere& wanted_elsewhere, controller::ParallelRunner& helpers,
                               const ObjectWatch& watch) {
  std::vector<Result<Left>> left(resources.size(), Left::kObject);
  helpers.run(resources.size(), [&](std::size_t i) {
    const std::optional<Left> done = delete_as_seen(spoke, resources[i], owner, wanted_elsewhere, watch);
    left[i] = done ? Result<Left>(*done) : remove_read(spoke, resources[i], owner, wanted_elsewhere);
  });
  CleanupResult result;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const AppliedResource& resource = resources[i];
    if (!left[i] && !result.error)
      result.error = left[i].error().wrap("cannot remove " + resource.resource + " " + resource.name);
    if (!left[i] || *left[i] == Left::kObject) result.remaining.push_back(resource);
  }
  return result;
}

}  // namespace fleetadm::work
