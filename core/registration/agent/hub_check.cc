#include "core/registration/agent/hub_check.h"

#include <array>

#include "core/api/kinds.h"
#include "core/controller/controller.h"

namespace fleetadm::registration::agent {
namespace {

struct Right {
  const kube::Resource& resource;
  const char* verb;
};

Result<bool> may(const kube::Client& hub, const Right& right) {
  const auto& reviews = kube::resources::self_subject_access_reviews();
  const Json attributes{{"verb", right.verb}, {"group", right.resource.group}, {"resource", right.resource.plural}};
  const Json review{
      {"apiVersion", reviews.api_version()}, {"kind", reviews.kind}, {"spec", {{"resourceAttributes", attributes}}}};
  FLEETADM_TRY(const Json answer, hub.post(reviews.path({}), review, true));
  return flag(answer, {"status", "allowed"});
}

}  // namespace

bool is_denied(const Json& managed_cluster) {
  return !flag(managed_cluster, {"spec", "hubAcceptsClient"}) &&
         controller::find_condition(managed_cluster, api::kConditionHubAccepted) != nullptr;
}

Result<std::string> why_not_joinable(const kube::Client& hub, std::string_view cluster) {
  const kube::Resource& clusters = api::managed_clusters();
  const kube::Resource& requests = kube::resources::certificate_signing_requests();
  const std::array<Right, 6> needed{{{clusters, "get"},
                                     {clusters, "create"},
                                     {requests, "get"},
                                     {requests, "list"},
                                     {requests, "watch"},
                                     {requests, "create"}}};
  for (const Right& right : needed) {
    FLEETADM_TRY(const bool allowed, may(hub, right));
    if (!allowed) return "the bootstrap identity may not " + std::string(right.verb) + " " + right.resource.qualified();
  }
  FLEETADM_TRY(const std::optional<Json> found, hub.find(clusters, {}, cluster));
  if (found && is_denied(*found)) return "the hub does not accept cluster " + std::string(cluster) + " any more";
  return std::string();
}

}  // namespace fleetadm::registration::agent
