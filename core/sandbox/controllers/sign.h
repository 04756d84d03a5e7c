// A certificate for the key of a request, by the cluster's CA.
#pragma once

#include "kubeclient/pki/pki.h"

namespace fleetadm::sandbox {

/// PEM. Subject and subject alternative names are the request's; client authentication only; backdated five minutes.
Result<std::string> sign_client_certificate(const pki::KeyPair& ca, std::string_view request_pem, Duration lifetime);

}  // namespace fleetadm::sandbox
