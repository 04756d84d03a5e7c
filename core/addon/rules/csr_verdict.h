// Which certificate requests of add-on agents the hub approves and signs (docs/reference/addon.md#certificate-requests). A
// request that breaks a rule is left alone, never denied: a person may still look at it.
#pragma once

#include <string>

#include "core/addon/rules/object_reader.h"

namespace fleetadm::addon {

inline constexpr std::string_view kAddonApproval = "Auto approving addon agent certificate.";

struct CsrVerdict {
  enum class Answer {
    kOthers,   // no add-on's of ours: another program answers it
    kRefused,  // `rule` is broken, `why` is for people and may quote what the requester wrote
    kApproved,
  };
  Answer answer = Answer::kOthers;
  /// "addon", "alternative-names", "cluster", "extensions", "kubernetes-signer", "labels", "name", "request", "requester",
  /// "signer", "subject", "template" or "usages".
  std::string rule;
  std::string why;
  /// Of kApproved: the template's custom signer for it, null where Kubernetes' own signs.
  Json signer;
};

/// All that was asked must be exactly what this cluster's registration of the add-on has: the name's beginning, the labels, the
/// signer of one of the template's registrations, the usages, the subject, at most the add-on's one DNS name; the requester is
/// one of the cluster's own agents, the cluster is accepted and stays, and the request passes its checks
/// (core/api/certificate_request.h). A custom signer that stands for one of Kubernetes' own is refused with all that it would
/// sign.
CsrVerdict judge_addon_request(const ObjectReader& objects, const Json& csr);

/// The registration of a template that decides about a signer: the first that fits, or nullptr.
const Json* registration_for(const Json& addon_template, std::string_view signer);

/// Upstream's verdicts. It looks at neither the usages, the requester's cluster to its end, whether the hub accepts the cluster
/// nor the request's signature, and approves whatever is asked of a custom signer.
bool upstream_approves(const ObjectReader& objects, const Json& csr);
/// Upstream would sign it, or try again for ever: an approved request of an add-on with a template for another signer than that
/// of the Kubernetes API.
bool upstream_signs(const ObjectReader& objects, const Json& csr);

}  // namespace fleetadm::addon
