// By what replicas of a gateway know each other: a client certificate of the gateway's own CA with this subject and nothing else.
// What it asks for is done under the name that it says, so no other certificate of that CA may do.
#pragma once

#include <string_view>

namespace fleetadm::proxy {

inline constexpr std::string_view kPeerUser = "fleetadm:gateway-replica";
inline constexpr std::string_view kPeerOrganization = "fleetadm:gateway-replicas";

/// Between replicas alone, in lower case; dropped of everything that comes from elsewhere (drop_identity_headers()).
inline constexpr std::string_view kPeerCluster = "fleetadm-cluster";              // whose tunnel is meant
inline constexpr std::string_view kPeerQuestion = "fleetadm-question";            // "tunnel": is there one? 204 or 404
inline constexpr std::string_view kPeerUnsent = "fleetadm-unsent";                // "true" of an answer: the request ended there
inline constexpr std::string_view kPeerAuthorization = "fleetadm-authorization";  // a member's token, on its way there

}  // namespace fleetadm::proxy
