// Signs certificate requests as a hub's controller manager does.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/clock.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::testkit {

/// A client certificate (PEM) for the request's subject and key, good from five minutes ago.
std::string sign_request(const pki::KeyPair& ca, std::string_view request_pem, Duration validity);

}  // namespace fleetadm::testkit
