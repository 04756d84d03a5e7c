#include "core/registration/hub/requests.h"

#include <utility>

#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/csr_key.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::registration::hub {

RequestView view_request(const Json& csr, Instant now) {
  RequestView view;
  view.name = name_of(csr);
  view.requester = str(csr, {"spec", "username"});
  if (const auto pem = base64_decode(str(csr, {"spec", "request"}))) {
    if (const auto info = pki::parse_csr(*pem)) {
      view.common_name = info->subject.common_name;
      view.organizations = info->subject.organizations;
      view.key = info->public_key_algorithm;
      if (const auto key = pki::csr_key(*pem)) view.fingerprint = "sha256:" + key->spki_sha256;
    }
  }
  if (const auto identity = csr_identity(csr)) view.agent = identity->agent;
  const auto created = parse_time(str(csr, {"metadata", "creationTimestamp"}));
  view.age = format_age(created.value_or(Instant{}), now);
  return view;
}

std::string request_sentence(const RequestView& request) {
  return request.name + " (by " + request.requester + ", " + request.age + " ago, " +
         (request.agent.empty() ? std::string() : "agent ID " + request.agent + ", ") + "CN=" + request.common_name + ", " +
         request.key + " key " + request.fingerprint + ")";
}

Result<std::vector<Json>> agent_requests(const kube::Client& hub, const std::string& cluster) {
  kube::ListOptions which;
  which.label_selector = std::string(api::kClusterNameLabel) + "=" + cluster;
  FLEETADM_TRY(const Json list, hub.list(kube::resources::certificate_signing_requests(), "", which));
  std::vector<Json> requests;
  for (const Json& csr : list_at(list, {"items"})) {
    if (label_of(csr, api::kAddonNameLabel).empty()) requests.push_back(csr);
  }
  return requests;
}

}  // namespace fleetadm::registration::hub
