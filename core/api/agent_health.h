// Whether the agent of a cluster is ready, as it tells its hub in a condition of the ManagedCluster: in the words of its own
// pods.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm::api {

inline constexpr std::string_view kConditionAgentReady = "fleetadm.io/AgentReady";

struct AgentHealth {
  bool told = false;    // the agent has ever told
  bool ready = false;   // as it told last
  bool silent = false;  // it is not heard of any more: these are its last words
  std::string words;    // "1 of 1 replica ready"

  /// "ready", "ready: container agent of … restarted twice", "not ready: …", "silent, at last …"; empty where nothing was told.
  std::string text() const;
};

/// Of a ManagedCluster.
AgentHealth agent_health(const Json& cluster);

}  // namespace fleetadm::api
