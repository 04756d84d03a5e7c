#include "core/registration/hub/csr_rules.h"

#include "core/api/agent_identity.h"
#include "core/api/kinds.h"
#include "kubeclient/base/names.h"
#include "kubeclient/pki/pki.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::registration::hub {
namespace {

tl::unexpected<Error> refused(std::string why) { return fail(Category::kInvalid, std::move(why)); }

Status check_subject(const pki::CsrInfo& info, const std::string& group) {
  std::set<std::string> organizations(info.subject.organizations.begin(), info.subject.organizations.end());
  organizations.erase(std::string(api::kManagedClustersGroup));
  if (organizations != std::set<std::string>{group}) {
    for (const auto& organization : organizations) {
      if (organization != group) return refused("organization " + api::quoted_text(organization) + " is not the cluster's");
    }
    return refused("the cluster's organization " + api::quoted_text(group) + " is missing");
  }
  if (!info.subject.organizational_units.empty() || info.other_subject_attributes) {
    return refused("the subject has more than a common name and organizations");
  }
  return {};
}

}  // namespace

Result<CsrIdentity> csr_identity(const Json& csr) {
  CsrIdentity identity;
  identity.cluster = label_of(csr, api::kClusterNameLabel);
  if (identity.cluster.empty()) return refused("it has no cluster label");
  if (!is_dns_label(identity.cluster))
    return refused("the cluster label " + api::quoted_text(identity.cluster) + " is no cluster name");
  if (find(csr, {"metadata", "labels", api::kAddonNameLabel}) != nullptr) return refused("it is an add-on's");
  if (const std::string signer = str(csr, {"spec", "signerName"}); signer != kClientSigner) {
    return refused("signer " + api::quoted_text(signer) + " is not " + std::string(kClientSigner));
  }
  FLEETADM_CHECK(api::check_client_usages(csr));

  FLEETADM_TRY(const pki::CsrInfo info, api::checked_request(csr));
  if (!info.dns_names.empty() || !info.ip_addresses.empty() || !info.emails.empty() || !info.uris.empty()) {
    return refused("it asks for alternative names");
  }
  if (info.other_extensions) return refused("it asks for certificate extensions");

  const std::string group = std::string(api::kClusterGroupPrefix) + identity.cluster;
  FLEETADM_CHECK(check_subject(info, group));
  identity.common_name = info.subject.common_name;
  FLEETADM_TRY(identity.agent, api::agent_of_cluster(identity.common_name, identity.cluster));
  return identity;
}

CsrPath csr_path(const Json& csr, const CsrIdentity& identity, const std::set<std::string>& auto_approve_users) {
  const std::string requester = str(csr, {"spec", "username"});
  if (requester == identity.common_name) return CsrPath::kRenewal;
  if (!requester.empty() && auto_approve_users.count(requester) > 0) return CsrPath::kBootstrap;
  return CsrPath::kPerson;
}

Json renewal_review(const Json& csr) {
  Json spec = {{"user", str(csr, {"spec", "username"})},
               {"resourceAttributes",
                {{"group", "register.open-cluster-management.io"},
                 {"resource", "managedclusters"},
                 {"subresource", "clientcertificates"},
                 {"verb", "renew"}}}};
  if (const Json& groups = list_at(csr, {"spec", "groups"}); !groups.empty()) spec["groups"] = groups;
  if (const std::string uid = str(csr, {"spec", "uid"}); !uid.empty()) spec["uid"] = uid;
  if (const Json& extra = object_at(csr, {"spec", "extra"}); !extra.empty()) spec["extra"] = extra;
  const auto& reviews = kube::resources::subject_access_reviews();
  return {{"apiVersion", reviews.api_version()}, {"kind", reviews.kind}, {"spec", std::move(spec)}};
}

void add_approval(Json& csr, Instant now) {
  api::add_approval(csr, "Auto approving Managed cluster agent certificate after SubjectAccessReview.", now);
}

}  // namespace fleetadm::registration::hub
