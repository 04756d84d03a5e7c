// One recorded or asked-for scheduling pass as JSON, in and out: the batch form of the scheduler. The format is documented in
// fleetadm-scenarios(7); a change here is a change of that contract.
#pragma once

#include "core/placement/engine/schedule.h"

namespace fleetadm::placement {

/// A case: {"now": RFC 3339, "placement": "namespace/name", "objects": [Kubernetes objects]}. Objects of kinds that the
/// scheduler does not read are left out, and of two with the same name the last counts.
struct Scenario {
  FleetState world;
  Placement placement;
  Instant now;
};

/// kInvalid where a member is absent or wrong; kNotFound where the placement is not among the objects.
Result<Scenario> decode_scenario(const Json& line);

/// A recorded pass as an answer: {"skipped": true}, {"failed": true}, or what was decided. `selected` is always there.
Json encode_pass(const Pass& pass);

/// decode, schedule, encode.
Result<Json> answer_scenario(const Json& line, const CelEvaluator* cel);

/// Takes an object into the world. False: it is of no kind that the world holds (a Placement is of none).
bool put_object(FleetState& world, const Json& object);

}  // namespace fleetadm::placement
