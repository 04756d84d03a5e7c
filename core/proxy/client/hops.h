// Which part of the way to a member failed, as its client sees it.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/transport/transport.h"

namespace fleetadm::proxy {

/// How requests get to members: by our gateway, or by upstream's cluster-proxy, whose user server takes them, or whose
/// konnectivity server connects to the members' API servers.
enum class Way { kGateway, kUserServer, kKonnectivity };
std::string_view to_string(Way way);  // gateway, user-server, konnectivity

enum class HopName { kNone, kHub, kGateway, kUserServer, kFrontEnd, kTunnel, kAgent, kMember };
std::string_view to_string(HopName hop);

// Reasons of answers that a relay gives itself (member_relay.h): which hop it was.
inline constexpr const char* kNoRoute = "NoRoute";                          // the hub does not hold what is needed for a cluster
inline constexpr const char* kServerUnreachable = "ServerUnreachable";      // the gateway, or the user server
inline constexpr const char* kFrontEndUnreachable = "FrontEndUnreachable";  // of konnectivity
inline constexpr const char* kNoTunnel = "NoTunnel";                        // it does, but not to the member
inline constexpr const char* kMemberNotVerified = "MemberNotVerified";

/// What became of one request to a member.
struct WayState {
  // Healthy, NotReady, Forbidden, Unauthorized, NotFound, NoRoute, NoTunnel, Limited, Timeout, Unreachable, NotVerified, Broken
  std::string status;
  HopName hop = HopName::kNone;  // where it went wrong
  std::string message;           // why; empty where all is well
  int code = 0;                  // of the answer; 0: there was none
  bool healthy() const { return status == "Healthy"; }
};

/// Whether the member's API server answered, and not a hop before it: our gateway names that in a header, and what relays and
/// upstream's programs refuse is without details (but when to try again).
bool is_of_member(const kube::Response& response);

/// Of a request for the member's /readyz. `gateway_answers`: it answered others, so that silence is the member's.
WayState way_state(const Result<kube::Response>& answer, bool gateway_answers, Way way = Way::kGateway);

}  // namespace fleetadm::proxy
