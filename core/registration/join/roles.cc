#include "core/registration/join/roles.h"

#include "core/api/hosted_member.h"
#include "core/api/kinds.h"
#include "core/registration/join/hosted_members.h"

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

Result<Roles> roles_of(const kube::Client& client) {
  Roles roles;
  const auto note = [&roles](const Result<bool>& answer, bool& into) -> Status {
    if (answer) into = *answer;
    if (answer || (roles.any() && answer.error().code == 403)) return {};
    return fail(answer.error());
  };
  FLEETADM_TRY(roles.hub, is_hub(client));
  FLEETADM_CHECK(note(has_joined(client), roles.joined));
  FLEETADM_CHECK(note(hosts_agents(client, api::kHostedNamespace), roles.hosting));
  return roles;
}

}  // namespace fleetadm::join
