// What the rules of an add-on's rollout read, taken from a hub as it is now.
#pragma once

#include <set>
#include <string>

#include "core/addon/rules/object_reader.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

struct AddonRolloutObjects {
  addon::MemoryObjects objects;
  std::set<addon::GroupResource> known;  // the configuration types whose objects could be read
};

/// kNotFound where the hub has no such add-on. Of configurations that the caller may not read, the hashes stay those of the
/// status.
Result<AddonRolloutObjects> read_addon_rollout(const kube::Client& hub, const std::string& addon);

}  // namespace fleetadm::commands
