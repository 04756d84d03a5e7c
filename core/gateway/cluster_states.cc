#include "core/gateway/cluster_states.h"

#include <utility>

#include "core/api/kinds.h"
#include "core/api/push_member.h"

namespace fleetadm::gateway {
namespace {

constexpr const char* kAccepts = "hubAcceptsClient";

void keep_what_counts(Json& cluster) {
  Json kept = Json::object();
  for (const char* member : {"name", "uid", "resourceVersion"}) {
    if (const Json* value = find(cluster, {"metadata", member})) at_or_make(kept, {"metadata", member}) = *value;
  }
  if (api::is_push_member(cluster)) at_or_make(kept, {"metadata", "labels", api::kModeLabel}) = std::string(api::kPushMode);
  kept["spec"][kAccepts] = flag(cluster, {"spec", kAccepts});
  Json conditions = Json::array();
  for (const std::string_view type : {api::kConditionAvailable, api::kConditionResponding}) {
    if (const Json* condition = controller::find_condition(cluster, type)) conditions.push_back(*condition);
  }
  kept["status"]["conditions"] = std::move(conditions);
  cluster = std::move(kept);
}

}  // namespace

ClusterStates::ClusterStates(controller::Manager& manager, const kube::Client& hub, std::function<void(const std::string&)> lost)
    : lost_(std::move(lost)) {
  kube::InformerOptions options;
  options.project = keep_what_counts;
  clusters_ = manager.informer(hub, api::managed_clusters(), std::move(options));
  clusters_->on_event([this](kube::EventType, const kube::CachedPtr& before, const kube::CachedPtr& after) {
    take((after ? after : before)->key(), after ? std::optional(read(after->decode())) : std::nullopt);
  });
}

ClusterStates::Known ClusterStates::read(const Json& cluster) {
  Known known;
  known.accepted = flag(cluster, {"spec", kAccepts});
  known.dialed = api::is_push_member(cluster);
  const Json* available = controller::find_condition(cluster, api::kConditionAvailable);
  if (available == nullptr || str(*available, {"status"}) != "False") return known;
  // It is back, and that is held back from placements only.
  if (controller::condition_is(cluster, api::kConditionResponding, "True")) return known;
  known.down = true;
  known.why = str(*available, {"message"});
  known.since = parse_time(str(*available, {"lastTransitionTime"})).value_or(Instant{});
  return known;
}

void ClusterStates::take(const std::string& cluster, std::optional<Known> known) {
  const bool accepted = known && known->accepted;
  bool was = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(cluster);
    was = found != known_.end() && found->second.accepted;
    if (known) {
      known_[cluster] = std::move(*known);
    } else if (found != known_.end()) {
      known_.erase(found);
    }
  }
  if (was && !accepted) lost_(cluster);
}

proxy::ClusterState ClusterStates::state(std::string_view cluster) const {
  if (!clusters_->synced()) return proxy::ClusterState::kUnread;
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(cluster);
  if (found == known_.end()) return proxy::ClusterState::kAbsent;
  return found->second.accepted ? proxy::ClusterState::kAccepted : proxy::ClusterState::kDenied;
}

bool ClusterStates::is_push_member(std::string_view cluster) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(cluster);
  return found != known_.end() && found->second.dialed;
}

std::optional<Error> ClusterStates::down(std::string_view cluster, Instant now) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(cluster);
  if (found == known_.end() || !found->second.down) return std::nullopt;
  std::string text = "the cluster \"" + std::string(cluster) + "\" is down";
  if (found->second.since != Instant{}) text += " for " + format_age(found->second.since, now);
  if (!found->second.why.empty()) text += ": " + found->second.why;
  return Error{.code = 503, .category = Category::kUnavailable, .message = std::move(text)};
}

}  // namespace fleetadm::gateway
