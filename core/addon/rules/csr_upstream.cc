// Upstream's verdicts on certificate requests, for the comparison with its recorded answers.
#include <set>

#include "core/addon/rules/agent_identity.h"
#include "core/addon/rules/csr_verdict.h"
#include "core/api/certificate_request.h"
#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::addon {
namespace {

constexpr std::string_view kGrpcServer = "system:serviceaccount:open-cluster-management-hub:grpc-server-sa";
constexpr std::string_view kRequesterAnnotation = "open-cluster-management.io/csr-user";

bool has_condition(const Json& csr, std::string_view type) {
  for (const Json& condition : list_at(csr, {"status", "conditions"})) {
    if (str(condition, {"type"}) == type) return true;
  }
  return false;
}

/// The add-on whose manager looks at the request, or nullptr.
ObjectPtr looked_at_by(const ObjectReader& objects, const Json& csr) {
  const std::string cluster = label_of(csr, api::kClusterNameLabel);
  const std::string addon = label_of(csr, api::kAddonNameLabel);
  if (!name_of(csr).starts_with("addon") || cluster.empty() || addon.empty()) return nullptr;
  if (objects.get(managed_clusters(), {}, cluster) == nullptr) return nullptr;
  ObjectPtr enabled = objects.get(managed_cluster_addons(), cluster, addon);
  return enabled != nullptr && has_template(*enabled) ? enabled : nullptr;
}

/// Its reader takes the first block and ignores what is around it.
Result<pki::CsrInfo> first_block(const Json& csr) {
  FLEETADM_TRY(const std::string text, base64_decode(str(csr, {"spec", "request"})));
  constexpr std::string_view kEnd = "-----END CERTIFICATE REQUEST-----";
  const std::size_t begin = text.find("-----BEGIN ");
  const std::size_t end = begin == std::string::npos ? begin : text.find(kEnd, begin);
  if (end == std::string::npos) return fail(Category::kInvalid, "no certificate request");
  return pki::parse_csr(std::string_view(text).substr(begin, end + kEnd.size() - begin));
}

bool kube_client_approves(const Json& csr, const std::string& cluster, const std::string& addon) {
  const auto asked = first_block(csr);
  if (!asked) return false;
  const std::set<std::string> groups(asked->subject.organizations.begin(), asked->subject.organizations.end());
  if (groups.size() != 2 && groups.size() != 3) return false;
  if (!groups.contains(cluster_addon_group(cluster, addon)) || !groups.contains(addon_group(addon))) return false;
  if (asked->subject.common_name != agent_user(cluster, addon, default_agent(addon))) return false;
  std::string requester = str(csr, {"spec", "username"});
  if (requester == kGrpcServer) requester = annotation_of(csr, kRequesterAnnotation);
  return requester.starts_with(std::string(api::kClusterGroupPrefix) + cluster);
}

}  // namespace

bool upstream_approves(const ObjectReader& objects, const Json& csr) {
  if (has_condition(csr, "Approved") || has_condition(csr, "Denied")) return false;
  const ObjectPtr enabled = looked_at_by(objects, csr);
  if (enabled == nullptr) return false;
  const auto found = template_of(objects, *enabled);
  const Json* registration = found ? registration_for(**found, str(csr, {"spec", "signerName"})) : nullptr;
  if (registration == nullptr) return false;
  if (str(*registration, {"type"}) == "CustomSigner") return true;
  return kube_client_approves(csr, namespace_of(*enabled), name_of(*enabled));
}

bool upstream_signs(const ObjectReader& objects, const Json& csr) {
  if (!has_condition(csr, "Approved") || has_condition(csr, "Denied")) return false;
  if (!str(csr, {"status", "certificate"}).empty() || str(csr, {"spec", "signerName"}) == api::kClientSigner) return false;
  return looked_at_by(objects, csr) != nullptr;
}

}  // namespace fleetadm::addon
