// Which certificate requests the hub approves for clusters' agents: pure rules (docs/reference/registration.md#identity,
// docs/reference/registration.md#approval-of-certificate-requests). A request that breaks any of them is left alone, never
// denied: a person may still look at it.
#pragma once

#include <set>
#include <string>

#include "core/api/certificate_request.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::registration::hub {

using api::csr_decided;
using api::kClientSigner;

/// Whom a well-formed request asks a certificate for.
struct CsrIdentity {
  std::string cluster;
  std::string agent;
  std::string common_name;  // "system:open-cluster-management:<cluster>:<agent>"
  bool operator==(const CsrIdentity&) const = default;
};

/// The identity that a CertificateSigningRequest object asks for, or why it is none of a cluster's agent (kInvalid; the message
/// may quote what the requester wrote). Checked: cluster label, no add-on label, signer, exact usages, one PEM block in DER with
/// a valid self-signature by a key of at least RSA 2048's strength, no alternative names or other extensions, common name and
/// organizations, nothing else in the subject.
Result<CsrIdentity> csr_identity(const Json& csr);

enum class CsrPath {
  kRenewal,    // the agent itself asks again: approve when the SubjectAccessReview allows it
  kBootstrap,  // a requester the hub was told to trust: approve
  kPerson,     // a person decides
};
CsrPath csr_path(const Json& csr, const CsrIdentity& identity, const std::set<std::string>& auto_approve_users);

/// The SubjectAccessReview that asks whether the requester may renew cluster certificates.
Json renewal_review(const Json& csr);

/// Adds the Approved condition.
void add_approval(Json& csr, Instant now);

}  // namespace fleetadm::registration::hub
