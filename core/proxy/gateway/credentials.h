// What a request brings to say who its caller is. Pure.
#pragma once

#include <memory>
#include <string>

#include "core/serve/http/message.h"
#include "kubeclient/base/result.h"

namespace fleetadm::proxy {

struct Credentials {
  std::shared_ptr<const serve::Peer> certificate;  // valid under the hub's client CA; null: none
  std::string token;                               // for the hub, where there is no certificate
  std::string member_token;                        // for the member; empty: the caller is impersonated there
};

/// Takes them from the request, so that none of them can go on by mistake: `authorization: Bearer`, a bearer token among the
/// subprotocols of a WebSocket, `fleetadm-member-token`. 401 for none, two at once, an invalid certificate, or another scheme;
/// 400 for a member's token that is none, or that is the hub's.
Result<Credentials> take_credentials(serve::HttpRequest& request);

}  // namespace fleetadm::proxy
