// Which part of the way to a member failed, as its client sees it.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/transport/transport.h"

namespace fleetadm::proxy {

enum class HopName { kNone, kGateway, kTunnel, kMember };
std::string_view to_string(HopName hop);

/// What became of one request to a member.
struct WayState {
  std::string status;  // Healthy, NotReady, Forbidden, Unauthorized, NotFound, NoTunnel, Limited, Timeout, Unreachable, Broken
  HopName hop = HopName::kNone;  // where it went wrong
  std::string message;           // why; empty where all is well
  int code = 0;                  // of the answer; 0: there was none
  bool healthy() const { return status == "Healthy"; }
};

/// Whether the member's API server answered, and not the gateway or the agent: these refuse without
/// details (but when to try again).
bool is_of_member(const kube::Response& response);

/// Of a request for the member's /readyz. `gateway_answers`: it answered others, so that silence is the member's.
WayState way_state(const Result<kube::Response>& answer, bool gateway_answers);

}  // namespace fleetadm::proxy
