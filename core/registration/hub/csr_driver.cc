#include "core/registration/hub/csr_driver.h"

#include <algorithm>

#include "core/api/kinds.h"
#include "core/registration/hub/csr_rules.h"

namespace fleetadm::registration::hub {

bool is_trusted_request(const Json& csr, const std::string& cluster, const std::set<std::string>& users) {
  if (users.count(str(csr, {"spec", "username"})) == 0) return false;
  for (const Json& condition : list_at(csr, {"status", "conditions"})) {
    const std::string type = str(condition, {"type"});
    if (type == "Denied" || type == "Failed") return false;
  }
  const auto identity = csr_identity(csr);
  return identity && identity->cluster == cluster;
}

bool CsrDriver::trusts(const Json& cluster) const {
  if (users_.empty()) return false;
  const std::string name = name_of(cluster);
  const auto requests = csrs_->list();
  return std::any_of(requests.begin(), requests.end(), [&](const kube::CachedPtr& csr) {
    const Json request = csr->decode();
    return label_of(request, api::kClusterNameLabel) == name && is_trusted_request(request, name, users_);
  });
}

}  // namespace fleetadm::registration::hub
