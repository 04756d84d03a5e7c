// Contents of configuration objects that a command is about to write.
#pragma once

#include <string>
#include <vector>

#include "core/addon/plan/rollout_objects.h"

namespace fleetadm::addon {

/// A configuration whose contents are to be others.
struct ConfigEdit {
  ConfigKey key;
  Json contents;       // earlier_contents.h
  std::string before;  // the hash that was read; empty: there is no such object yet
};

/// The edits that give every configuration of `wanted` the contents of its hash. kConflict names the first one whose contents are
/// not kept, or that is gone.
Result<std::vector<ConfigEdit>> edits_towards(const AddonRolloutObjects& read, const std::vector<DesiredConfig>& wanted);

/// As it would be afterwards.
void make_edit(MemoryObjects& objects, const ConfigEdit& edit);

/// Creates or rewrites the object; what it had before is kept in it. kConflict where its contents are others than were read.
Result<Json> write_edit(const kube::Client& hub, const ConfigEdit& edit);

}  // namespace fleetadm::addon
