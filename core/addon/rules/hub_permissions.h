// The rights on the hub that a template gives the agents of its add-on: RoleBindings (docs/reference/addon.md#hub-permissions).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/addon/rules/object_reader.h"
#include "core/addon/rules/pass.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

struct HubPermissions {
  std::vector<Json> bindings;      // complete, as they should be
  std::vector<ObjectRef> deleted;  // bindings of this agent that the template does not ask for any more (kStrict)
  bool pending = false;            // there are rights to give, and nobody yet to give them to
  std::optional<Error> error;      // what stands in `bindings` before it is written all the same
};

/// `registrations`: of the ManagedClusterAddOn, which say who the agent is.
///
/// kUpstream binds the add-on's agents of all clusters in every cluster's namespace, by their common group; a shared namespace
/// has one binding, with the subjects of the cluster that came last, and a second role of one kind in one namespace is an error
/// for ever. kStrict binds each cluster's own agent only, in a shared namespace by a binding for each cluster, and a binding for
/// each role.
HubPermissions hub_permissions(const ObjectReader& objects, const Json& addon, const Json& registrations,
                               const Json& addon_template, rollout::Semantics conduct);

/// What a ManagedClusterAddOn that is gone has left in namespaces that are not its cluster's (kStrict).
std::vector<ObjectRef> left_bindings(const ObjectReader& objects, std::string_view cluster, std::string_view addon);

}  // namespace fleetadm::addon
