// The agent's end of a tunnel, above HTTP/2: each request goes to the member's API server, and each answer back.
#pragma once

#include <memory>

#include "core/proxy/hop/hop.h"

namespace fleetadm::proxy {

/// For requests of a tunnel, whose bodies are all streamed; I/O thread only. `member` is a MemberHop, which is told of
/// everything.
///
/// HTTP/2 has no upgrades: a request with "fleetadm-upgrade: <protocol>" asks the member for one, and its body is what is said to
/// the member once that has agreed. Then the answer is 200 with "fleetadm-switched: <protocol>", and its body is what the member
/// says. Any other answer is the member's own. Where there is none: a Status object.
serve::HttpHandler answer_tunnel(std::shared_ptr<Hop> member);

}  // namespace fleetadm::proxy
