// Objects of another cluster (`kubectl get -o yaml`) into a cluster of a sandbox.
#pragma once

#include "core/sandbox/engine/engine.h"

namespace fleetadm::sandbox {

/// Definitions first, then namespaces, then owners before what they own. uid, creationTimestamp and status stay where the object
/// is new; references to owners follow them, and those whose owner is neither loaded nor there are left out, as the garbage
/// collector would delete their object. Answers what came of each:
///   {"created": 3, "updated": 1, "unchanged": 0, "skipped": [{"object": "ConfigMap a/b", "why": "…"}], "failed": [the same]}
/// kInvalid where something is no object at all; then nothing is loaded.
Result<Json> load_objects(Engine& engine, const Json& objects);

}  // namespace fleetadm::sandbox
