#include "core/registration/join/roles.h"

#include "core/api/kinds.h"

namespace fleetadm::join {

Result<bool> is_hub(const kube::Client& client) {
  kube::Request request;
  request.path = "/apis/" + api::managed_clusters().api_version();
  const auto answer = client.raw(request);
  if (!answer && answer.error().code == 404) return false;
  if (!answer) return tl::unexpected(answer.error());
  return answer->body.find("\"managedclusters\"") != std::string::npos;
}

Result<bool> has_joined(const kube::Client& client) {
  FLEETADM_TRY(const auto found, client.find(kube::resources::namespaces(), "", api::kAgentNamespace));
  return found.has_value();
}

}  // namespace fleetadm::join
