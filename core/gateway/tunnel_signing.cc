#include "core/gateway/tunnel_signing.h"

#include <algorithm>
#include <string_view>

#include "core/api/agent_identity.h"
#include "core/api/certificate_request.h"
#include "core/api/cluster_proxy.h"
#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/names.h"
#include "kubeclient/pki/client_certificate.h"

namespace fleetadm::gateway {
namespace {

/// As the add-on's own signer: agents of konnectivity's read theirs once, when they start.
constexpr auto kTunnelCertificateLife = std::chrono::hours(24 * 180);
constexpr std::string_view kTunnelGroup = "open-cluster-management:cluster-proxy";
constexpr std::string_view kEverybody = "system:authenticated";

bool is_group(std::string_view organization) { return organization == kTunnelGroup || organization == kEverybody; }

}  // namespace

bool awaits_tunnel_certificate(const Json& request) {
  return str(request, {"spec", "signerName"}) == api::kProxyAgentSigner && api::awaits_certificate(request);
}

std::string cluster_of_requester(const Json& request) {
  const std::string user = str(request, {"spec", "username"});
  const auto groups = string_list_at(request, {"spec", "groups"});
  if (is_dns_label(user) && api::is_aws_agent(user, groups, user)) return user;
  if (!user.starts_with(api::kClusterGroupPrefix)) return {};
  const std::string_view rest = std::string_view(user).substr(api::kClusterGroupPrefix.size());
  std::string cluster(rest.substr(0, rest.find(':')));
  if (!is_dns_label(cluster) || !api::agent_of_cluster(user, cluster)) return {};
  const bool is_member = std::ranges::find(groups, std::string(api::kClusterGroupPrefix) + cluster) != groups.end();
  return is_member ? cluster : std::string();
}

Result<std::string> sign_tunnel_request(const Json& request, const pki::KeyPair& ca, Instant now) {
  if (cluster_of_requester(request).empty()) {
    return fail(Category::kInvalid,
                "its requester " + api::quoted_text(str(request, {"spec", "username"})) + " is no agent of a cluster");
  }
  FLEETADM_CHECK(api::check_client_usages(request));
  FLEETADM_TRY(const pki::CsrInfo asked, api::checked_request(request));
  const auto& subject = asked.subject;
  if (asked.other_subject_attributes || subject.common_name != api::kProxyAgentUser ||
      !std::ranges::all_of(subject.organizations, is_group)) {
    return fail(Category::kInvalid, "its subject " + api::quoted_text(subject.common_name) + " is not that of tunnels");
  }
  FLEETADM_TRY(const std::string pem, base64_decode(str(request, {"spec", "request"})));
  return pki::sign_client_request(ca, pem, now, kTunnelCertificateLife);
}

}  // namespace fleetadm::gateway
