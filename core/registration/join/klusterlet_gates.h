// The feature gates of a Klusterlet, and what each is for the agent, which has none. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/registration/join/klusterlet_fields.h"

namespace fleetadm::join {

/// One that the agent follows.
struct FollowedGate {
  std::string becomes;
  std::function<void()> enable;
};
using FollowedGates = std::map<std::string, FollowedGate>;  // by name

/// Tells of each gate in `list` (featureGates of registrationConfiguration or workConfiguration), and enables those that are on
/// and followed.
void read_registration_gates(const Json& list, const KlusterletFields& fields, const FollowedGates& followed);
void read_work_gates(const Json& list, const KlusterletFields& fields, const FollowedGates& followed);

}  // namespace fleetadm::join
