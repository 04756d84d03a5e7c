#include "core/gateway/cluster_states.h"

#include <utility>

#include "core/api/kinds.h"

namespace fleetadm::gateway {
namespace {

constexpr const char* kAccepts = "hubAcceptsClient";

void keep_acceptance(Json& cluster) {
  Json kept = Json::object();
  for (const char* member : {"name", "uid", "resourceVersion"}) {
    if (const Json* value = find(cluster, {"metadata", member})) at_or_make(kept, {"metadata", member}) = *value;
  }
  kept["spec"][kAccepts] = flag(cluster, {"spec", kAccepts});
  cluster = std::move(kept);
}

}  // namespace

ClusterStates::ClusterStates(controller::Manager& manager, const kube::Client& hub, std::function<void(const std::string&)> lost)
    : lost_(std::move(lost)) {
  kube::InformerOptions options;
  options.project = keep_acceptance;
  clusters_ = manager.informer(hub, api::managed_clusters(), std::move(options));
  clusters_->on_event([this](kube::EventType, const kube::CachedPtr& before, const kube::CachedPtr& after) {
    take((after ? after : before)->key(), after != nullptr, after && flag(after->decode(), {"spec", kAccepts}));
  });
}

void ClusterStates::take(const std::string& cluster, bool known, bool accepted) {
  bool was = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = accepted_.find(cluster);
    was = found != accepted_.end() && found->second;
    if (known) {
      accepted_[cluster] = accepted;
    } else if (found != accepted_.end()) {
      accepted_.erase(found);
    }
  }
  if (was && !accepted) lost_(cluster);
}

proxy::ClusterState ClusterStates::state(std::string_view cluster) const {
  if (!clusters_->synced()) return proxy::ClusterState::kUnread;
  const std::lock_guard lock(mutex_);
  const auto found = accepted_.find(cluster);
  if (found == accepted_.end()) return proxy::ClusterState::kAbsent;
  return found->second ? proxy::ClusterState::kAccepted : proxy::ClusterState::kDenied;
}

}  // namespace fleetadm::gateway
