// What the hub's rules for certificate requests have in common, whoever asks: a request of a cluster's agent or of an add-on's.
// A message may quote what the requester wrote, escaped and shortened.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::api {

inline constexpr std::string_view kClientSigner = "kubernetes.io/kube-apiserver-client";

/// Requester-written text for a message: escaped, short, in quotes.
std::string quoted_text(const std::string& text);

/// The usages are exactly those of a client's certificate, in any order; else kInvalid.
Status check_client_usages(const Json& csr);

/// The request inside of a CertificateSigningRequest, which every program reads alike and whose requester holds its key: one PEM
/// block in DER, a valid self-signature, a key of at least RSA 2048's strength; else kInvalid.
Result<pki::CsrInfo> checked_request(const Json& csr);

/// Approved, denied, failed or already issued: nothing is left to decide.
bool csr_decided(const Json& csr);

/// A request of a signer that is not Kubernetes' own may be signed now: approved, not denied, and without a certificate.
bool awaits_certificate(const Json& csr);

/// Adds the Approved condition as the hub's approvers write it.
void add_approval(Json& csr, std::string_view message, Instant now);

}  // namespace fleetadm::api
