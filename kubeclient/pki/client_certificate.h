// Certificates that are good for nothing but to be a client.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/pki/pki.h"

namespace fleetadm::pki {

/// The certificate (PEM) that a request asks for, as sign_request() makes it, but for clients alone: nothing of the request but
/// its subject and its key goes into it, whatever other names it asks for.
Result<std::string> sign_client_request(const KeyPair& ca, std::string_view request_pem, Instant now, Duration validity);

}  // namespace fleetadm::pki
