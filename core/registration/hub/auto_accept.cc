#include "core/registration/hub/auto_accept.h"

#include "core/api/kinds.h"
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

Result<Outcome> AutoAcceptController::reconcile(const std::string& key, std::stop_token stop) {
  const auto cached = clusters_->get(key);
  if (!cached || !waits_for_acceptance(cached->decode()) || !reserved_name(key, hub_namespace_).empty()) return Outcome{};
  const Json seen = cached->decode();
  const RegistrationDriver* driver = drivers_.of(seen);
  if (driver == nullptr || !driver->trusts(seen)) return Outcome{};
  bool accepted = false;
  const auto stored = tools_.client.with_stop(stop).modify(api::managed_clusters(), {}, key, [&](Json& cluster) -> Status {
    // What it is trusted for may have changed since the cache saw it.
    accepted =
        uid_of(cluster) == cached->uid() && waits_for_acceptance(cluster) && driver->handles(cluster) && driver->trusts(cluster);
    if (!accepted) return {};
    at_or_make(cluster, {"spec", "hubAcceptsClient"}) = true;
    at_or_make(cluster, {"metadata", "annotations", kAutoAcceptedAnnotation}) = format_time(tools_.clock->now());
    return {};
  });
  if (!stored && stored.error().category != Category::kNotFound) return tl::unexpected(stored.error());
  if (stored && accepted) log::info(1, "auto-accept", key + ": accepted without a person");
  return Outcome{};
}

}  // namespace fleetadm::registration::hub
