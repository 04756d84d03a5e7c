#include "core/work/hub/ttl_controller.h"

#include <utility>

#include "core/api/kinds.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"
#include "kubeclient/base/log.h"

namespace fleetadm::work {
namespace {

/// Longer than any fleet lives; keeps the sum below inside of an Instant.
constexpr std::int64_t kLongestTtl = 3'000'000'000;

/// Of works that never end only the identity is kept.
void keep_finish(Json& object) {
  Json kept = Json::object();
  for (const char* key : {"name", "namespace", "uid", "resourceVersion", "labels", "deletionTimestamp"}) {
    if (const Json* value = find(object, {"metadata", key})) at_or_make(kept, {"metadata", key}) = *value;
  }
  if (const Json* ttl = find(object, {"spec", "deleteOption", "ttlSecondsAfterFinished"}); ttl != nullptr && ttl->is_number()) {
    at_or_make(kept, {"spec", "deleteOption", "ttlSecondsAfterFinished"}) = *ttl;
    if (const Json* complete = condition_in(list_at(object, {"status", "conditions"}), kConditionComplete))
      at_or_make(kept, {"status", "conditions"}) = Json::array({*complete});
  }
  object = std::move(kept);
}

}  // namespace

std::optional<Instant> end_of_life(const Json& work) {
  if (is_deleting(work) || !label_of(work, kReplicaSetLabel).empty()) return std::nullopt;
  const Json* ttl = find(work, {"spec", "deleteOption", "ttlSecondsAfterFinished"});
  const Json* complete = condition_in(list_at(work, {"status", "conditions"}), kConditionComplete);
  if (ttl == nullptr || !ttl->is_number_integer() || complete == nullptr || str(*complete, {"status"}) != "True")
    return std::nullopt;
  const std::int64_t seconds = num(work, {"spec", "deleteOption", "ttlSecondsAfterFinished"});
  const std::optional<Instant> since = parse_time(str(*complete, {"lastTransitionTime"}));
  if (!since || seconds < 0 || seconds > kLongestTtl) return std::nullopt;
  return *since + std::chrono::seconds(seconds);
}

void add_finished_works_controller(controller::Manager& manager, const kube::Client& hub, std::shared_ptr<Clock> clock) {
  kube::InformerOptions which;
  which.label_selector = "!" + std::string(kReplicaSetLabel);
  which.project = keep_finish;
  const std::shared_ptr<kube::Informer> works = manager.informer(hub, api::manifest_works(), std::move(which));
  controller::ControllerOptions options;
  options.name = "finished-works";
  const auto reconcile = [hub, works, clock = std::move(clock)](const std::string& key,
                                                                const std::stop_token&) -> Result<controller::Outcome> {
    const kube::CachedPtr cached = works->get(key);
    if (!cached) return controller::Outcome{};
    std::optional<Instant> end = end_of_life(cached->decode());
    if (!end) return controller::Outcome{};
    if (*end > clock->now()) return controller::Outcome{*end - clock->now()};
    // Asked live: a stale cache never deletes what was given a longer life, or more work, in the meantime.
    const auto [cluster, name] = kube::split_key(key);
    FLEETADM_TRY(const std::optional<Json> live, hub.find(api::manifest_works(), cluster, name));
    end = live ? end_of_life(*live) : std::nullopt;
    if (!end) return controller::Outcome{};
    if (*end > clock->now()) return controller::Outcome{*end - clock->now()};
    kube::DeleteOptions exactly;
    exactly.uid = uid_of(*live);
    exactly.resource_version = resource_version_of(*live);
    const Result<Json> removed = hub.remove(api::manifest_works(), cluster, name, exactly);
    if (!removed && removed.error().category == Category::kConflict) return controller::Outcome{std::chrono::seconds(1)};
    if (!removed && removed.error().category != Category::kNotFound) return tl::unexpected(removed.error());
    log::info(1, "finished-works", "work " + key + " is complete and its time is over: deleted");
    return controller::Outcome{};
  };
  controller::Manager::enqueue_on(*works, manager.add(std::move(options), reconcile));
}

}  // namespace fleetadm::work
