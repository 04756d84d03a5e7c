// What the rules of add-ons read: the caches of a hub, or the objects of a file. An object that is not there does not exist.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::work {
struct PlacementView;
}

namespace fleetadm::addon {

/// A resource type as configurations name it, without a version: every version of an object is the same object.
struct GroupResource {
  std::string group;  // "" for the core group
  std::string resource;

  auto operator<=>(const GroupResource&) const = default;
  /// "addontemplates.addon.open-cluster-management.io", or "configmaps".
  std::string qualified() const;
};

// Types that the rules name.
const GroupResource& managed_cluster_addons();
const GroupResource& cluster_management_addons();
const GroupResource& addon_templates();
const GroupResource& addon_deployment_configs();
const GroupResource& managed_clusters();
const GroupResource& placements();
const GroupResource& placement_decisions();
const GroupResource& manifest_works();
const GroupResource& certificate_requests();
const GroupResource& secrets();
const GroupResource& service_accounts();
const GroupResource& roles();
const GroupResource& role_bindings();

using ObjectPtr = std::shared_ptr<const Json>;

/// Add-on objects (ManagedClusterAddOn, ClusterManagementAddOn) are v1beta1, whatever the server stores. Thread-safe.
class ObjectReader {
 public:
  virtual ~ObjectReader() = default;
  /// nullptr: there is none. `ns` is empty for cluster-scoped types.
  virtual ObjectPtr get(const GroupResource& type, std::string_view ns, std::string_view name) const = 0;
  /// By namespace and name; an empty `ns` means all.
  virtual std::vector<ObjectPtr> list(const GroupResource& type, std::string_view ns = {}) const = 0;
  /// The add-ons of this name in all clusters, by namespace.
  virtual std::vector<ObjectPtr> addons_named(std::string_view name) const;
  /// The objects in any namespace that are labelled with this cluster and this add-on.
  virtual std::vector<ObjectPtr> labelled(const GroupResource& type, std::string_view cluster, std::string_view addon) const;
  /// The works of the add-on of a cluster, by namespace and name: those in the cluster's namespace, and those anywhere that are
  /// labelled with this cluster's namespace and not another one.
  virtual std::vector<ObjectPtr> addon_works(std::string_view cluster, std::string_view addon) const;
  /// A cluster that the placement's decisions name although it is in none of the cluster sets that are bound to the placement's
  /// namespace. Empty: there is none, or it is not known here.
  virtual std::string outsider(const Json& placement, const work::PlacementView& decided) const;
};

/// Objects in memory: a scenario's, a command's or a test's.
class MemoryObjects final : public ObjectReader {
 public:
  MemoryObjects() = default;
  /// kInvalid: one of them has no kind or no name.
  static Result<MemoryObjects> from(const Json& objects);

  ObjectPtr get(const GroupResource& type, std::string_view ns, std::string_view name) const override;
  std::vector<ObjectPtr> list(const GroupResource& type, std::string_view ns = {}) const override;

  /// Replaces what has the same type and name.
  void put(Json object);
  bool remove(const GroupResource& type, std::string_view ns, std::string_view name);
  /// Every object, by type, namespace and name.
  std::vector<ObjectPtr> all() const;

 private:
  std::map<GroupResource, std::map<std::pair<std::string, std::string>, ObjectPtr>> objects_;
};

/// Whether a work is one of addon_works().
bool is_addon_work(const Json& work, std::string_view cluster, std::string_view addon);

/// The type of an object by its apiVersion and kind: the plural of the kind as it is formed for every kind that the rules meet
/// (lowercase; "y" becomes "ies", a sibilant gets "es", all others "s").
GroupResource type_of(const Json& object);

}  // namespace fleetadm::addon
