#include "core/registration/hub/sets.h"

#include "core/api/kinds.h"
#include "kubeclient/base/log.h"

namespace fleetadm::registration::hub {
namespace {

using controller::Outcome;

constexpr const char* kSetsName = "cluster-sets";
constexpr std::string_view kAutoUpdate = "cluster.open-cluster-management.io/autoupdate";

Labels labels_of(const kube::CachedObject& cluster) {
  Labels labels;
  for (auto& [key, value] : strings_at(cluster.decode(), {"metadata", "labels"})) labels.emplace_back(key, value);
  return labels;  // sorted: they come from a map
}

std::string set_of(const Labels& labels) {
  const std::string* set = label_value(labels, api::kClusterSetLabel);
  return set != nullptr ? *set : std::string();
}

/// A read-modify-write of a status that is only begun where the cached object says that something differs.
Status write_status(const kube::Client& client, const kube::Resource& resource, const Json& cached,
                    const std::function<bool(Json&)>& change) {
  Json trial = cached;
  if (!change(trial)) return {};
  const auto stored = client.modify(
      resource, namespace_of(cached), name_of(cached),
      [&](Json& object) -> Status {
        if (uid_of(object) == uid_of(cached)) change(object);
        return {};
      },
      "status");
  if (stored || stored.error().category == Category::kNotFound) return {};
  return tl::unexpected(stored.error());
}

}  // namespace

bool ClusterLabels::observe(kube::EventType type, const kube::CachedObject& cluster, std::vector<std::string>& sets) {
  const bool gone = type == kube::EventType::kDeleted;
  Labels labels = gone ? Labels{} : labels_of(cluster);
  const std::lock_guard lock(mutex_);
  const auto known = by_cluster_.find(cluster.key());
  if (known == by_cluster_.end() && gone) return false;
  if (known != by_cluster_.end()) {
    if (!gone && known->second == labels) return false;
    sets.push_back(set_of(known->second));
  }
  if (gone) {
    by_cluster_.erase(known);
  } else {
    sets.push_back(set_of(labels));
    by_cluster_.insert_or_assign(cluster.key(), std::move(labels));
  }
  return true;
}

std::size_t ClusterLabels::count_in_set(const std::string& set) const {
  if (set.empty()) return 0;
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [name, labels] : by_cluster_) count += set_of(labels) == set ? 1 : 0;
  return count;
}

std::size_t ClusterLabels::count_matching(const Selector& selector) const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [name, labels] : by_cluster_) count += selector.matches(labels) ? 1 : 0;
  return count;
}

Json standard_set_spec(const std::string& name) {
  if (name == api::kDefaultClusterSet) return {{"clusterSelector", {{"selectorType", "ExclusiveClusterSetLabel"}}}};
  if (name == api::kGlobalClusterSet) {
    return {{"clusterSelector", {{"selectorType", "LabelSelector"}, {"labelSelector", Json::object()}}}};
  }
  return nullptr;
}

bool may_restore(const Json& set) { return annotation_of(set, kAutoUpdate) != "false"; }

bool selects_by_labels(const Json& set) { return str(set, {"spec", "clusterSelector", "selectorType"}) == "LabelSelector"; }

bool set_member_count(Json& set, std::size_t count, Instant now) {
  Json& conditions = at_or_make(set, {"status", "conditions"});
  if (count == 0) {
    return controller::set_condition(conditions, "ClusterSetEmpty", "True", "NoClusterMatched", "No ManagedCluster selected",
                                     now);
  }
  return controller::set_condition(conditions, "ClusterSetEmpty", "False", "ClustersSelected",
                                   std::to_string(count) + " ManagedClusters selected", now);
}

bool set_bound(Json& binding, bool set_exists, Instant now) {
  return controller::set_condition(at_or_make(binding, {"status", "conditions"}), "Bound", set_exists ? "True" : "False",
                                   set_exists ? "ClusterSetBound" : "ClusterSetNotFound", "", now);
}

Result<Outcome> StandardSetsController::reconcile(const std::string& key, std::stop_token stop) {
  const Json spec = standard_set_spec(key);
  if (spec.is_null()) return Outcome{};
  const auto& type = api::managed_cluster_sets();
  const kube::Client client = tools_.client.with_stop(stop);
  const auto cached = sets_->get(key);
  if (!cached) {
    const Json set = {{"apiVersion", type.api_version()}, {"kind", type.kind}, {"metadata", {{"name", key}}}, {"spec", spec}};
    const auto made = client.create(type, {}, tools_.labelled(set));
    if (made) log::info(1, kSetsName, "made the cluster set " + key);
    if (made || made.error().category == Category::kConflict) return Outcome{};
    return tl::unexpected(made.error());
  }
  const Json& wanted = object_at(spec, {"clusterSelector"});
  const auto drifted = [&](const Json& set) {
    return !is_deleting(set) && may_restore(set) && object_at(set, {"spec", "clusterSelector"}) != wanted;
  };
  if (!drifted(cached->decode())) return Outcome{};
  const auto stored = client.modify(type, {}, key, [&](Json& set) -> Status {
    if (drifted(set)) at_or_make(set, {"spec", "clusterSelector"}) = wanted;
    return {};
  });
  if (!stored && stored.error().category != Category::kNotFound) return tl::unexpected(stored.error());
  return Outcome{};
}

std::size_t SetStatusController::count(const Json& set) const {
  if (!selects_by_labels(set)) return labels_->count_in_set(name_of(set));
  const Json* selector = find(set, {"spec", "clusterSelector", "labelSelector"});
  if (selector == nullptr || selector->is_null()) return 0;  // no selector selects nothing, an empty one everything
  return labels_->count_matching(Selector::compile(*selector));
}

Status SetStatusController::report(const kube::Client& client, const std::string& name) {
  const auto cached = sets_->get(name);
  if (!cached) return {};
  return write_status(client, api::managed_cluster_sets(), cached->decode(),
                      [&](Json& set) { return set_member_count(set, count(set), tools_.clock->now()); });
}

Result<Outcome> SetStatusController::reconcile(const std::string& key, std::stop_token stop) {
  const kube::Client client = tools_.client.with_stop(stop);
  if (key != kLabelSets) {
    FLEETADM_CHECK(report(client, key));
    return Outcome{};
  }
  for (const auto& set : sets_->list()) {
    if (selects_by_labels(set->decode())) FLEETADM_CHECK(report(client, set->key()));
  }
  return Outcome{};
}

Result<Outcome> BindingStatusController::reconcile(const std::string& key, std::stop_token stop) {
  const auto cached = bindings_->get(key);
  if (!cached) return Outcome{};
  const Json binding = cached->decode();
  const bool exists = sets_->get(str(binding, {"spec", "clusterSet"})) != nullptr;
  FLEETADM_CHECK(write_status(tools_.client.with_stop(stop), api::managed_cluster_set_bindings(), binding,
                              [&](Json& object) { return set_bound(object, exists, tools_.clock->now()); }));
  return Outcome{};
}

}  // namespace fleetadm::registration::hub
