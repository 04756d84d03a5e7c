// What ends on the ways of a hosted member: from its agent to the member, and from there to the hub.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/registration/expiry/spoke_hops.h"
#include "core/registration/join/hosted_members.h"

namespace fleetadm::registration::expiry {

/// "member token" (or "member certificate") of a member's kubeconfig: how its agent is known on the member. Pure.
Hop member_credential(const std::string& cluster, const kube::Credentials& credentials);

/// That of a member's Secret, tried on the member from this machine. Where the kubeconfig cannot be used, the hop is wrong.
Hop ask_member(const join::HostedMember& member, std::stop_token stop);

/// All of the member, in the order of the ways: its API server and the credential there, then those of every agent.
std::vector<Hop> hosted_hops(const kube::Client& hosting, std::string_view ns, const join::HostedMember& member,
                             const HubView& hub, std::stop_token stop);

}  // namespace fleetadm::registration::expiry
