#include "core/registration/hub/cleanup.h"

#include <algorithm>
#include <charconv>

#include "core/api/kinds.h"
#include "core/registration/hub/rbac.h"
#include "kubeclient/base/log.h"

namespace fleetadm::registration::hub {
namespace {

using controller::Outcome;

constexpr std::string_view kPriorityAnnotation = "open-cluster-management.io/cleanup-priority";
constexpr std::string_view kDeleting = "Deleting";
constexpr Duration kLongestPause = std::chrono::minutes(10);

Status delete_work(const kube::Client& client, const std::string& cluster, const Json& work) {
  kube::DeleteOptions options;
  options.uid = uid_of(work);
  const auto gone = client.remove(api::manifest_works(), cluster, name_of(work), options);
  if (gone || gone.error().category == Category::kNotFound) return {};
  return tl::unexpected(gone.error());
}

}  // namespace

int cleanup_priority(const Json& item) {
  const std::string text = annotation_of(item, kPriorityAnnotation);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0 || value > 100) return 0;
  return value;
}

CleanupRound plan_cleanup(const std::vector<Json>& items) {
  CleanupRound round;
  round.remaining = items.size();
  int lowest = 101;
  for (const Json& item : items) lowest = std::min(lowest, cleanup_priority(item));
  for (const Json& item : items) {
    if (is_deleting(item)) {
      ++round.pending;
    } else if (cleanup_priority(item) == lowest) {
      round.to_delete.push_back(item);
    }
  }
  return round;
}

Result<std::optional<Duration>> clear_abandoned(const kube::Client& client, const std::string& cluster, Instant now) {
  FLEETADM_TRY(const auto works, list_metadata(client, api::manifest_works(), cluster));
  if (!works || works->empty()) return std::optional<Duration>{};
  Duration oldest = Duration::zero();
  for (const Json& work : *works) {
    if (!is_deleting(work)) {
      FLEETADM_CHECK(delete_work(client, cluster, work));
      continue;
    }
    const Duration waited = now - parse_time(str(work, {"metadata", "deletionTimestamp"})).value_or(now);
    oldest = std::max(oldest, waited);
    if (waited >= kAgentGrace) {
      FLEETADM_CHECK(
          drop_finalizers(client, api::manifest_works(), cluster, name_of(work), {kWorkCleanupFinalizer}, uid_of(work)));
    }
  }
  // Somebody else's finalizer may hold a work for good: the longer it does, the less often this looks.
  return std::optional<Duration>(std::clamp<Duration>(oldest / 4, std::chrono::seconds(1), kLongestPause));
}

Result<Outcome> CleanupController::reconcile(const std::string& key, std::stop_token stop) {
  const auto cached = clusters_->get(key);
  if (!cached) return Outcome{};
  const Json seen = cached->decode();
  if (!is_deleting(seen) || !has_finalizer(seen, kResourceCleanupFinalizer)) return Outcome{};
  const kube::Client client = tools_.client.with_stop(stop);
  // Deleting works is final: only on the server's own word that this very cluster is being deleted.
  FLEETADM_TRY(const auto live, client.find(api::managed_clusters(), {}, key));
  if (!live || uid_of(*live) != cached->uid() || !is_deleting(*live) || !has_finalizer(*live, kResourceCleanupFinalizer))
    return Outcome{};
  const auto clean_now = clean(client, *live);
  if (!clean_now) {
    if (!is_transient(clean_now.error()))
      FLEETADM_CHECK(report(client, *live, "False", "DeletingError", clean_now.error().message));
    return tl::unexpected(clean_now.error());
  }
  if (!*clean_now) return Outcome{deletion_pause(*live, tools_.clock->now())};
  // Who was never told that something remains need not be told that nothing does: the cluster goes with the next write.
  if (controller::find_condition(*live, kDeleting) != nullptr)
    FLEETADM_CHECK(report(client, *live, "True", "NoResource", "No cleaned resource in cluster ns."));
  if (has_finalizer(*live, kApiCleanupFinalizer)) {
    FLEETADM_TRY(const auto again, grants_->take_back(client, key, live, stop));
    if (again) return Outcome{again};
  }
  FLEETADM_CHECK(drop_finalizers(client, api::managed_clusters(), {}, key, {kResourceCleanupFinalizer, kApiCleanupFinalizer},
                                 uid_of(*live)));
  return Outcome{};
}

/// One round; true when nothing is left.
Result<bool> CleanupController::clean(const kube::Client& client, const Json& cluster) {
  const std::string name = name_of(cluster);
  for (const kube::Resource* type : {&api::managed_cluster_addons(), &api::manifest_works()}) {
    FLEETADM_TRY(const auto items, list_metadata(client, *type, name));
    if (!items || items->empty()) continue;  // not served, or none
    const CleanupRound round = plan_cleanup(*items);
    for (const Json& item : round.to_delete) {
      kube::DeleteOptions options;
      options.uid = uid_of(item);
      const auto gone = client.remove(*type, name, name_of(item), options);
      if (!gone && gone.error().category != Category::kNotFound) return tl::unexpected(gone.error());
    }
    FLEETADM_CHECK(report(client, cluster, "False", "ResourceRemaining",
                          "The resource " + type->plural + " is remaning, the remaining count is " +
                              std::to_string(round.remaining) + ", the finalizer pending count is " +
                              std::to_string(round.pending)));
    return false;
  }
  return true;
}

Status CleanupController::report(const kube::Client& client, const Json& cluster, std::string_view status,
                                 std::string_view reason, std::string_view message) {
  const auto stored = client.modify(
      api::managed_clusters(), {}, name_of(cluster),
      [&](Json& object) -> Status {
        if (uid_of(object) != uid_of(cluster)) return {};
        controller::set_condition(at_or_make(object, {"status", "conditions"}), kDeleting, status, reason, message,
                                  tools_.clock->now());
        return {};
      },
      "status");
  if (stored || stored.error().category == Category::kNotFound) return {};
  return tl::unexpected(stored.error());
}

}  // namespace fleetadm::registration::hub
