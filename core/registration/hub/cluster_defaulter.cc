#include "core/registration/hub/cluster_defaulter.h"

#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/registration/hub/rbac.h"

namespace fleetadm::registration::hub {
namespace {

constexpr const char* kNoSelect = "NoSelect";

bool is_taint(const Json& taint, std::string_view key) {
  return str(taint, {"key"}) == key && str(taint, {"effect"}) == kNoSelect;
}

}  // namespace

bool sync_taints(Json& cluster, Instant now) {
  std::string wanted;
  if (controller::condition_is(cluster, api::kConditionAvailable, "False")) {
    wanted = kUnavailableTaint;
  } else if (!controller::condition_is(cluster, api::kConditionAvailable, "True") && !api::awaits_first_report(cluster)) {
    wanted = api::kUnreachableTaint;
  }
  bool changed = false;
  bool present = false;
  Json kept = Json::array();
  for (const Json& taint : list_at(cluster, {"spec", "taints"})) {
    const bool ours = is_taint(taint, api::kUnreachableTaint) || is_taint(taint, kUnavailableTaint);
    if (ours && (wanted.empty() || !is_taint(taint, wanted) || present)) {
      changed = true;
      continue;
    }
    present = present || ours;
    kept.push_back(taint);
    if (taint.is_object() && str(taint, {"timeAdded"}).empty()) {
      kept.back()["timeAdded"] = format_time(now);
      changed = true;
    }
  }
  if (!wanted.empty() && !present) {
    kept.push_back({{"key", wanted}, {"effect", kNoSelect}, {"timeAdded", format_time(now)}});
    changed = true;
  }
  if (!changed) return false;
  if (kept.empty()) {
    erase_at(cluster, {"spec", "taints"});
  } else {
    at_or_make(cluster, {"spec", "taints"}) = std::move(kept);
  }
  return true;
}

bool default_cluster_set(Json& cluster) {
  if (!label_of(cluster, api::kClusterSetLabel).empty()) return false;
  at_or_make(cluster, {"metadata", "labels", api::kClusterSetLabel}) = std::string(api::kDefaultClusterSet);
  return true;
}

bool apply_cluster_defaults(Json& cluster, Instant now) {
  if (is_deleting(cluster)) return false;
  bool changed = sync_taints(cluster, now);
  changed |= default_cluster_set(cluster);
  for (const std::string_view finalizer : {kResourceCleanupFinalizer, kApiCleanupFinalizer}) {
    if (has_finalizer(cluster, finalizer)) continue;
    Json& finalizers = at_or_make(cluster, {"metadata", "finalizers"});
    if (!finalizers.is_array()) finalizers = Json::array();
    finalizers.push_back(std::string(finalizer));
    changed = true;
  }
  return changed;
}

Result<controller::Outcome> ClusterDefaulter::reconcile(const std::string& key, std::stop_token stop) {
  const auto cached = clusters_->get(key);
  if (!cached) return controller::Outcome{};
  FLEETADM_CHECK(tools_.modify_cluster(
      tools_.clusters->newest(cached->decode()), [&](Json& object) { apply_cluster_defaults(object, tools_.clock->now()); },
      stop));
  return controller::Outcome{};
}

}  // namespace fleetadm::registration::hub
