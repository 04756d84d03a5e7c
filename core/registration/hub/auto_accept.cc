#include "core/registration/hub/auto_accept.h"

#include <algorithm>

#include "core/api/kinds.h"
#include "core/registration/hub/csr_rules.h"
#include "core/registration/hub/rbac.h"
#include "kubeclient/base/log.h"

namespace fleetadm::registration::hub {
namespace {

using controller::Outcome;

/// Nobody has decided about it yet. The condition is there from the first acceptance on, and tells of a denial after it, whoever
/// accepted the cluster before.
bool waits_for_acceptance(const Json& cluster) {
  return !is_deleting(cluster) && !flag(cluster, {"spec", "hubAcceptsClient"}) &&
         annotation_of(cluster, kAutoAcceptedAnnotation).empty() &&
         controller::find_condition(cluster, api::kConditionHubAccepted) == nullptr;
}

}  // namespace

bool is_trusted_request(const Json& csr, const std::string& cluster, const std::set<std::string>& users) {
  if (users.count(str(csr, {"spec", "username"})) == 0) return false;
  for (const Json& condition : list_at(csr, {"status", "conditions"})) {
    const std::string type = str(condition, {"type"});
    if (type == "Denied" || type == "Failed") return false;
  }
  const auto identity = csr_identity(csr);
  return identity && identity->cluster == cluster;
}

Result<Outcome> AutoAcceptController::reconcile(const std::string& key, std::stop_token stop) {
  const auto cached = clusters_->get(key);
  if (!cached || !waits_for_acceptance(cached->decode()) || !reserved_name(key, hub_namespace_).empty()) return Outcome{};
  const auto requests = csrs_->list();
  const bool trusted = std::any_of(requests.begin(), requests.end(), [&](const kube::CachedPtr& csr) {
    const Json request = csr->decode();
    return label_of(request, api::kClusterNameLabel) == key && is_trusted_request(request, key, users_);
  });
  if (!trusted) return Outcome{};
  bool accepted = false;
  const auto stored = tools_.client.with_stop(stop).modify(api::managed_clusters(), {}, key, [&](Json& cluster) -> Status {
    accepted = uid_of(cluster) == cached->uid() && waits_for_acceptance(cluster);
    if (!accepted) return {};
    at_or_make(cluster, {"spec", "hubAcceptsClient"}) = true;
    at_or_make(cluster, {"metadata", "annotations", kAutoAcceptedAnnotation}) = format_time(tools_.clock->now());
    return {};
  });
  if (!stored && stored.error().category != Category::kNotFound) return tl::unexpected(stored.error());
  if (stored && accepted) log::info(1, "auto-accept", key + ": accepted, its request is by a trusted user");
  return Outcome{};
}

}  // namespace fleetadm::registration::hub
