// The ManifestWorks of one add-on on one cluster: which there are, and what they say (docs/reference/addon.md#works).
#pragma once

#include <string>
#include <vector>

#include "core/addon/rules/agent_description.h"
#include "core/addon/rules/object_reader.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

/// Where a work's objects live: on the cluster of the add-on, or (hosted mode) on the cluster that runs its agent.
enum class Side { kManaged, kHosting };

std::string deploy_work_prefix(const Json& addon, Side side);  // the index follows
std::string hook_work_name(const Json& addon, Side side);

/// The add-on's works that deploy its agent (kHosting: in whatever namespace), in the order of their names.
std::vector<ObjectPtr> deploy_works(const ObjectReader& objects, const Json& addon, Side side);
/// Its works with a pre-delete hook.
std::vector<ObjectPtr> hook_works(const ObjectReader& objects, const Json& addon, Side side);

/// spec.manifestConfigs: the fields that are probed, then those that the agent's description has, one entry for each object.
Json manifest_configs_of(const AgentDescription& agent);

/// spec.deleteOption: what is orphaned, or null where nothing is.
Json delete_option_of(const std::vector<Json>& manifests);

/// The annotation of a work with the hashes of the add-on's configurations; empty where it has none.
std::string config_hashes_of(const Json& addon);

/// A work of this add-on: in its own namespace it is owned, elsewhere labelled.
Json new_work(const Json& addon, const std::string& ns, const std::string& name, const std::vector<Json>& manifests);

/// Keeps of a work's specification its hash and what a pass reads of the work as it is: which objects its manifests are. For
/// caches: updated_work() takes such a work as `current`.
void keep_spec_as_hash(Json& work);

/// `current` as `wanted` has it (labels, annotations, owner references, spec), or null where it already is. What a server fills
/// in, and creation times inside manifests, are no difference.
Json updated_work(const Json& current, const Json& wanted);

}  // namespace fleetadm::addon
