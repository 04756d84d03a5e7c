// Certificates of the add-on cluster-proxy's tunnels, signed by the gateway in the place of the add-on's manager
// (docs/reference/cluster-proxy.md#our-gateway-in-the-place-of-the-proxy-server). Pure.
#pragma once

#include <string>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::gateway {

/// A request of the tunnels' signer that was approved, not denied, and has no certificate.
bool awaits_tunnel_certificate(const Json& request);

/// The cluster whose agent made a CertificateSigningRequest, as the hub's API server knows it; empty: nobody's agent did.
std::string cluster_of_requester(const Json& request);

/// The certificate (PEM) for such a request, for clients alone and without any of the alternative names that it asks for.
/// kInvalid: it is not what a cluster's agent asks for a tunnel.
Result<std::string> sign_tunnel_request(const Json& request, const pki::KeyPair& ca, Instant now);

}  // namespace fleetadm::gateway
