// Writes what a pass decided: the planned writes in order, the placement's status last.
#pragma once

#include <map>
#include <string>

#include "core/placement/hub/expectations.h"
#include "core/placement/hub/plan.h"
#include "kubeclient/events/recorder.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::placement {

/// What publish() did, also where it ended with an error: the versions that its writes replaced.
struct Published {
  Superseded placements;
  Superseded decisions;
};

/// The first failure ends it: what was written stays right, and the rest is tried again. Events tell each write.
Status publish(const kube::Client& hub, kube::Recorder& recorder, const Json& placement, const Pass& pass,
               const std::map<std::string, Json>& existing, Instant now, Published& published);

}  // namespace fleetadm::placement
