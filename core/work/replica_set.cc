#include "core/work/replica_set.h"

#include <utility>

#include "core/api/kinds.h"
#include "core/work/names.h"
#include "core/work/replica_set_rules.h"
#include "kubeclient/base/log.h"

namespace fleetadm::work {
namespace {

constexpr const char* kByPlacement = "placement";
constexpr const char* kByOwner = "owner";
constexpr Duration kMaxRequeue = std::chrono::minutes(30);
constexpr Duration kConflictRetry = std::chrono::milliseconds(50);
constexpr Duration kForegroundLook = std::chrono::seconds(5);

/// What the cache keeps of a work: its spec as a hash.
void project_work(Json& object) {
  Json kept = Json::object();
  Json metadata = Json::object();
  for (const char* key :
       {"name", "namespace", "uid", "resourceVersion", "labels", "generation", "creationTimestamp", "deletionTimestamp"}) {
    if (const Json* value = find(object, {"metadata", key})) metadata[key] = *value;
  }
  kept["metadata"] = std::move(metadata);
  kept["specHash"] = work_spec_hash(object_at(object, {"spec"}));
  kept["conditions"] = list_at(object, {"status", "conditions"});
  object = std::move(kept);
}

OwnedWork decode_work(const Json& kept) {
  OwnedWork work;
  work.ns = namespace_of(kept);
  work.name = name_of(kept);
  work.uid = uid_of(kept);
  work.labels = strings_at(kept, {"metadata", "labels"});
  work.placement = label_of(kept, kPlacementNameLabel);
  work.spec_hash = str(kept, {"specHash"});
  work.created = str(kept, {"metadata", "creationTimestamp"});
  work.generation = num(kept, {"metadata", "generation"});
  work.deleting = is_deleting(kept);
  work.conditions = list_at(kept, {"conditions"});
  return work;
}

/// Namespaces have no dots: the first one ends it.
std::string key_of_owner(const std::string& owner) {
  const std::size_t dot = owner.find('.');
  return dot == std::string::npos ? std::string{} : kube::object_key(owner.substr(0, dot), owner.substr(dot + 1));
}

std::vector<std::string> placements_of(const Json& set) {
  std::vector<std::string> keys;
  for (const Json& entry : list_at(set, {"spec", "placementRefs"})) {
    keys.push_back(kube::object_key(namespace_of(set), str(entry, {"name"})));
  }
  return keys;
}

class ReplicaSets {
 public:
  ReplicaSets(kube::Client hub, std::shared_ptr<Clock> clock) : hub_(std::move(hub)), clock_(std::move(clock)) {}

  void wire(controller::Manager& manager, const std::shared_ptr<ReplicaSets>& self);
  Result<controller::Outcome> reconcile(const std::string& key, const std::stop_token& stop);

 private:
  Result<controller::Outcome> finalize(const Json& set);
  Result<Json> patch(const kube::Resource& resource, const Json& before, const Json& after, std::string_view subresource) const;
  std::map<std::string, PlacementView> placements(const Json& set) const;
  Status carry_out(const Json& set, const ReplicaSetPlan& plan, const std::stop_token& stop);
  Status create(const Json& set, const WantedWork& wanted);
  Status update(const Json& set, const WorkChange& change);
  Status remove(const std::string& ns, const std::string& name, const std::string& uid);

  kube::Client hub_;
  std::shared_ptr<Clock> clock_;
  std::shared_ptr<kube::Informer> sets_;
  std::shared_ptr<kube::Informer> works_;
  std::shared_ptr<kube::Informer> placements_;
  std::shared_ptr<kube::Informer> decisions_;
  std::shared_ptr<controller::Queue> queue_;
};

void ReplicaSets::wire(controller::Manager& manager, const std::shared_ptr<ReplicaSets>& self) {
  kube::InformerOptions set_options;
  set_options.indexes.emplace_back(kByPlacement, placements_of);
  sets_ = manager.informer(hub_, api::manifest_work_replica_sets(), std::move(set_options));
  kube::InformerOptions work_options;
  work_options.label_selector = kReplicaSetLabel;
  work_options.project = project_work;
  work_options.indexes.emplace_back(kByOwner,
                                    [](const Json& work) { return std::vector<std::string>{label_of(work, kReplicaSetLabel)}; });
  works_ = manager.informer(hub_, api::manifest_works(), std::move(work_options));
  placements_ = manager.informer(hub_, api::placements());
  kube::InformerOptions decision_options;
  decision_options.indexes.emplace_back(kByPlacement, [](const Json& decision) {
    return std::vector<std::string>{kube::object_key(namespace_of(decision), label_of(decision, api::kPlacementLabel))};
  });
  decisions_ = manager.informer(hub_, api::placement_decisions(), std::move(decision_options));

  controller::ControllerOptions options;
  options.name = "work-replica-set";
  options.workers = 2;
  queue_ = manager.add(std::move(options),
                       [self](const std::string& key, std::stop_token stop) { return self->reconcile(key, stop); });

  // Handlers hold the informers weakly: a cache must not own itself.
  const std::weak_ptr<kube::Informer> sets = sets_;
  const auto referring = [sets](const std::string& placement) {
    std::vector<std::string> keys;
    if (const auto informer = sets.lock()) {
      for (const kube::CachedPtr& set : informer->by_index(kByPlacement, placement)) keys.push_back(set->key());
    }
    return keys;
  };
  controller::Manager::enqueue_on(*sets_, queue_);
  controller::Manager::enqueue_on(*works_, queue_, [](const kube::CachedObject& work) {
    std::string key = key_of_owner(label_of(work.decode(), kReplicaSetLabel));
    return key.empty() ? std::vector<std::string>{} : std::vector<std::string>{std::move(key)};
  });
  controller::Manager::enqueue_on(*placements_, queue_,
                                  [referring](const kube::CachedObject& placement) { return referring(placement.key()); });
  controller::Manager::enqueue_on(*decisions_, queue_, [referring](const kube::CachedObject& decision) {
    return referring(kube::object_key(kube::split_key(decision.key()).ns, label_of(decision.decode(), api::kPlacementLabel)));
  });
}

Result<Json> ReplicaSets::patch(const kube::Resource& resource, const Json& before, const Json& after,
                                std::string_view subresource) const {
  Json body = kube::merge_diff(before, after);
  if (body.empty()) return after;
  at_or_make(body, {"metadata", "uid"}) = uid_of(before);
  at_or_make(body, {"metadata", "resourceVersion"}) = resource_version_of(before);
  kube::WriteOptions options;
  options.subresource = std::string(subresource);
  return hub_.patch(resource, namespace_of(before), name_of(before), kube::PatchType::kMerge, body, options);
}

std::map<std::string, PlacementView> ReplicaSets::placements(const Json& set) const {
  std::map<std::string, PlacementView> views;
  for (const std::string& key : placements_of(set)) {
    PlacementView& view = views[kube::split_key(key).name];
    const kube::CachedPtr placement = placements_->get(key);
    if (!placement) continue;
    const Json object = placement->decode();
    view.exists = true;
    view.clusters.clear();
    view.selected = num(object, {"status", "numberOfSelectedClusters"});
    view.groups = static_cast<std::int64_t>(list_at(object, {"status", "decisionGroups"}).size());
    for (const kube::CachedPtr& cached : decisions_->by_index(kByPlacement, key)) {
      const Json decision = cached->decode();
      for (const Json& entry : list_at(decision, {"status", "decisions"})) {
        if (std::string cluster = str(entry, {"clusterName"}); !cluster.empty()) view.clusters.push_back(std::move(cluster));
      }
    }
  }
  return views;
}

Status ReplicaSets::create(const Json& set, const WantedWork& wanted) {
  Result<Json> created = hub_.create(api::manifest_works(), wanted.cluster, new_work(set, wanted));
  if (created) return {};
  if (created.error().category != Category::kConflict) return tl::unexpected(created.error().wrap("cluster " + wanted.cluster));
  // It is there already, and the cache is behind; unless someone else's work has the name.
  FLEETADM_TRY(const std::optional<Json> existing, hub_.find(api::manifest_works(), wanted.cluster, work_name_of(set)));
  if (!existing || label_of(*existing, kReplicaSetLabel) == owner_label_of(set)) return {};
  return fail(Category::kInvalid, "cluster " + wanted.cluster + " has a ManifestWork " + work_name_of(set) + " of someone else");
}

Status ReplicaSets::update(const Json& set, const WorkChange& change) {
  FLEETADM_TRY(const std::optional<Json> before, hub_.find(api::manifest_works(), change.work.ns, change.work.name));
  if (!before || uid_of(*before) != change.work.uid) return {};
  Json after = *before;
  for (const auto& [key, value] : work_labels(set, change.placement)) at_or_make(after, {"metadata", "labels", key}) = value;
  const Json& wanted = object_at(set, {"spec", "manifestWorkTemplate"});
  if (work_spec_hash(object_at(*before, {"spec"})) != work_spec_hash(wanted)) after["spec"] = new_work(set, {})["spec"];
  FLEETADM_CHECK(patch(api::manifest_works(), *before, after, {}));
  return {};
}

Status ReplicaSets::remove(const std::string& ns, const std::string& name, const std::string& uid) {
  kube::DeleteOptions options;
  options.uid = uid;
  Result<Json> removed = hub_.remove(api::manifest_works(), ns, name, options);
  if (removed || removed.error().category == Category::kNotFound || removed.error().category == Category::kConflict) return {};
  return tl::unexpected(removed.error().wrap("cluster " + ns));
}

/// Every cluster gets its turn; the first failure is answered at the end.
Status ReplicaSets::carry_out(const Json& set, const ReplicaSetPlan& plan, const std::stop_token& stop) {
  Status outcome;
  const auto note = [&](Status status) {
    if (!status && outcome) outcome = std::move(status);
  };
  for (const OwnedWork& work : plan.remove) {
    if (stop.stop_requested()) return fail(Category::kCancelled, "stopped");
    note(remove(work.ns, work.name, work.uid));
  }
  for (const WorkChange& change : plan.update) {
    if (stop.stop_requested()) return fail(Category::kCancelled, "stopped");
    note(update(set, change));
  }
  for (const WantedWork& wanted : plan.create) {
    if (stop.stop_requested()) return fail(Category::kCancelled, "stopped");
    note(create(set, wanted));
  }
  return outcome;
}

/// Asked live: works that the cache does not show yet must not be left behind.
Result<controller::Outcome> ReplicaSets::finalize(const Json& set) {
  if (!has_finalizer(set, kReplicaSetFinalizer)) return controller::Outcome{};
  bool left = false;
  if (owner_label_problem(set).empty()) {
    kube::ListOptions which;
    which.label_selector = std::string(kReplicaSetLabel) + "=" + owner_label_of(set);
    FLEETADM_TRY(const Json works, hub_.list(api::manifest_works(), {}, which));
    for (const Json& work : list_at(works, {"items"})) {
      left = true;
      if (!is_deleting(work)) FLEETADM_CHECK(remove(namespace_of(work), name_of(work), uid_of(work)));
    }
  }
  if (left && str(set, {"spec", "cascadeDeletionPolicy"}) == "Foreground") return controller::Outcome{kForegroundLook};
  Json after = set;
  Json kept = Json::array();
  for (const Json& finalizer : list_at(set, {"metadata", "finalizers"})) {
    if (finalizer != kReplicaSetFinalizer) kept.push_back(finalizer);
  }
  erase_at(after, {"metadata", "finalizers"});
  if (!kept.empty()) at_or_make(after, {"metadata", "finalizers"}) = std::move(kept);
  FLEETADM_CHECK(patch(api::manifest_work_replica_sets(), set, after, {}));
  return controller::Outcome{};
}

Result<controller::Outcome> ReplicaSets::reconcile(const std::string& key, const std::stop_token& stop) {
  const kube::CachedPtr cached = sets_->get(key);
  if (!cached) return controller::Outcome{};
  Json set = cached->decode();
  const auto settle = [](Error error) -> Result<controller::Outcome> {
    if (error.category == Category::kConflict) return controller::Outcome{kConflictRetry};
    if (error.category == Category::kNotFound) return controller::Outcome{};
    return tl::unexpected(std::move(error));
  };
  if (is_deleting(set)) {
    Result<controller::Outcome> done = finalize(set);
    return done ? done : settle(done.error());
  }
  if (!has_finalizer(set, kReplicaSetFinalizer)) {
    Json after = set;
    Json& finalizers = at_or_make(after, {"metadata", "finalizers"});
    if (!finalizers.is_array()) finalizers = Json::array();
    finalizers.push_back(kReplicaSetFinalizer);
    Result<Json> patched = patch(api::manifest_work_replica_sets(), set, after, {});
    if (!patched) return settle(patched.error());
    set = std::move(*patched);
  }
  Json after = set;
  Status outcome;
  if (const std::string problem = owner_label_problem(set); !problem.empty()) {
    after["status"] = invalid_name_status(set, problem, clock_->now());
  } else {
    std::vector<OwnedWork> works;
    for (const kube::CachedPtr& work : works_->by_index(kByOwner, owner_label_of(set)))
      works.push_back(decode_work(work->decode()));
    const std::map<std::string, PlacementView> views = placements(set);
    const ReplicaSetPlan plan = plan_replica_set(set, views, works);
    if (plan.missing_placement.empty()) outcome = carry_out(set, plan, stop);
    after["status"] = replica_set_status(set, plan, views, clock_->now());
  }
  Result<Json> patched = patch(api::manifest_work_replica_sets(), set, after, "status");
  if (!patched) return settle(patched.error());
  if (!outcome) {
    log::info(1, "work-replica-set", key + ": " + outcome.error().message);
    if (outcome.error().category == Category::kConflict) return controller::Outcome{kConflictRetry};
    return tl::unexpected(outcome.error());
  }
  return controller::Outcome{kMaxRequeue};
}

}  // namespace

void add_replica_set_controller(controller::Manager& manager, const kube::Client& hub, std::shared_ptr<Clock> clock) {
  auto sets = std::make_shared<ReplicaSets>(hub, std::move(clock));
  sets->wire(manager, sets);
}

}  // namespace fleetadm::work
