// What the rules of an add-on's roll-out read, taken from a hub as it is now.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/addon/rules/config_reference.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::addon {

struct AddonRolloutObjects {
  MemoryObjects objects;
  std::set<GroupResource> readable;  // the configuration types whose objects could be read

  KnownTypes known() const {
    return [types = readable](const GroupResource& type) { return types.contains(type); };
  }
  /// Keeps one that a list or a watch has shown: items name no kind, and add-ons are kept as v1beta1.
  void keep(const kube::Resource& resource, Json object);
  ObjectPtr declaration(const std::string& addon) const { return objects.get(cluster_management_addons(), {}, addon); }
};

/// kNotFound where the hub has no such add-on. Of configurations that the caller may not read, the hashes stay those of the
/// status. `further` are read beside those that are named now.
Result<AddonRolloutObjects> read_addon_rollout(const kube::Client& hub, const std::string& addon,
                                               const std::vector<DesiredConfig>& further = {});

/// Reads a declaration, lets `change` edit it as v1beta1, and writes the difference (kube::Client::modify).
Result<Json> modify_declaration(const kube::Client& hub, const std::string& addon, const std::function<Status(Json&)>& change);

/// The types of configurations that the hub itself reads; nullptr: another one.
const kube::Resource* config_resource(const GroupResource& type);

}  // namespace fleetadm::addon
