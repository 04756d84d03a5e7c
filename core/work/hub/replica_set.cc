#include "core/work/hub/replica_set.h"

#include <algorithm>
#include <utility>

#include "core/api/kinds.h"
#include "core/work/hub/bound_sets.h"
#include "core/work/hub/decision_rest.h"
#include "core/work/hub/replica_set_writer.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"
#include "core/work/rules/replica_set_revisions.h"
#include "core/work/rules/replica_set_rules.h"
#include "core/work/rules/replica_set_status.h"
#include "kubeclient/base/log.h"

namespace fleetadm::work {
namespace {

constexpr const char* kByPlacement = "placement";
constexpr const char* kByOwner = "owner";
constexpr Duration kMaxRequeue = std::chrono::minutes(30);
constexpr Duration kConflictRetry = std::chrono::milliseconds(50);
constexpr Duration kCacheRetry = std::chrono::milliseconds(200);
constexpr Duration kAfterTheInstant = std::chrono::milliseconds(10);
constexpr Duration kOutsiderLook = std::chrono::seconds(15);
constexpr Duration kForegroundLook = std::chrono::seconds(5);

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

std::vector<std::string> set_of_revision(const Json& revision) {
  return {kube::object_key(namespace_of(revision), label_of(revision, kRevisionOfLabel))};
}

class ReplicaSets {
 public:
  ReplicaSets(kube::Client hub, std::shared_ptr<Clock> clock, std::string only)
      : hub_(std::move(hub)), clock_(std::move(clock)), only_(std::move(only)), writer_(hub_, clock_) {}

  void wire(controller::Manager& manager, const std::shared_ptr<ReplicaSets>& self);
  Result<controller::Outcome> reconcile(const std::string& key, const std::stop_token& stop);

 private:
  Result<controller::Outcome> finalize(const Json& set);
  /// `rest`: how long until the decisions of some placement can be at rest.
  std::map<std::string, PlacementView> placements(const Json& set, std::optional<Duration>& rest);
  Result<controller::Outcome> roll(const Json& set, const std::stop_token& stop);
  Result<std::optional<Revision>> revision_of(const Json& set, const std::map<std::string, PlacementView>& views) const;
  Status record(const Revision& revision, std::string_view outcome) const;

  kube::Client hub_;
  std::shared_ptr<Clock> clock_;
  std::string only_;  // the key of the one set to look after; empty: all
  ReplicaSetWriter writer_;
  DecisionRest decision_rest_;
  std::optional<BoundSets> bound_sets_;  // none for one set, which a person drives with rights of their own
  std::shared_ptr<kube::Informer> sets_;
  std::shared_ptr<kube::Informer> works_;
  std::shared_ptr<kube::Informer> placements_;
  std::shared_ptr<kube::Informer> decisions_;
  std::shared_ptr<kube::Informer> revisions_;
  std::shared_ptr<controller::Queue> queue_;
};

void ReplicaSets::wire(controller::Manager& manager, const std::shared_ptr<ReplicaSets>& self) {
  if (only_.empty()) bound_sets_.emplace(manager, hub_);
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
  kube::InformerOptions revision_options;
  revision_options.label_selector = kRevisionOfLabel;
  revision_options.project = project_revision;
  revision_options.indexes.emplace_back(kByOwner, set_of_revision);
  revisions_ = manager.informer(hub_, controller_revisions(), std::move(revision_options));

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
  controller::Manager::enqueue_on(*revisions_, queue_,
                                  [](const kube::CachedObject& revision) { return set_of_revision(revision.decode()); });
  controller::Manager::enqueue_on(*placements_, queue_,
                                  [referring](const kube::CachedObject& placement) { return referring(placement.key()); });
  controller::Manager::enqueue_on(*decisions_, queue_, [referring](const kube::CachedObject& decision) {
    return referring(kube::object_key(kube::split_key(decision.key()).ns, label_of(decision.decode(), api::kPlacementLabel)));
  });
}

std::map<std::string, PlacementView> ReplicaSets::placements(const Json& set, std::optional<Duration>& rest) {
  std::map<std::string, PlacementView> views;
  for (const std::string& key : placements_of(set)) {
    PlacementView& view = views[kube::split_key(key).name];
    const kube::CachedPtr placement = placements_->get(key);
    if (!placement) continue;
    const Json object = placement->decode();
    std::vector<Json> decisions;
    for (const kube::CachedPtr& cached : decisions_->by_index(kByPlacement, key)) decisions.push_back(cached->decode());
    view = view_placement(&object, decisions);
    const std::string outsider = bound_sets_ ? bound_sets_->outsider(object, view) : std::string();
    if (!outsider.empty()) {
      view.problem = "the decisions of placement " + name_of(object) + " name cluster " + outsider +
                     ", which is in no cluster set that is bound to namespace " + namespace_of(object);
      rest = std::min(rest.value_or(kOutsiderLook), kOutsiderLook);
    }
    const std::optional<Duration> wait = decision_rest_.observe(key, view, clock_->now());
    if (wait) rest = std::min(rest.value_or(*wait), *wait);
  }
  return views;
}

/// The revision of the present template; made where there is none yet. nullopt: it cannot begin now.
Result<std::optional<Revision>> ReplicaSets::revision_of(const Json& set,
                                                         const std::map<std::string, PlacementView>& views) const {
  std::vector<Json> objects;
  for (const kube::CachedPtr& cached : revisions_->by_index(kByOwner, kube::object_key(set))) objects.push_back(cached->decode());
  const std::vector<Revision> known = revisions_of(set, objects);
  const std::string hash = work_spec_hash(object_at(set, {"spec", "manifestWorkTemplate"}));
  if (!known.empty() && known.back().hash == hash) return std::optional<Revision>(known.back());
  const std::optional<Members> members = members_now(set, views);
  if (!members || control_of(set).paused) return std::optional<Revision>{};
  FLEETADM_TRY(const Json live, hub_.get(api::manifest_work_replica_sets(), namespace_of(set), name_of(set)));
  if (uid_of(live) != uid_of(set) || work_spec_hash(object_at(live, {"spec", "manifestWorkTemplate"})) != hash) {
    return fail(Category::kConflict, "the template has changed again");
  }
  RevisionStart start;
  start.number = known.empty() ? 1 : known.back().number + 1;
  start.by = changed_by(live);
  start.members = *members;
  for (const Revision& earlier : known) {
    if (earlier.hash == hash) start.copied_from = earlier.number;
  }
  // The end of the one before is told first: once the new one is there, nobody looks back.
  if (!known.empty() && known.back().outcome.empty()) FLEETADM_CHECK(record(known.back(), kOutcomeSuperseded));
  FLEETADM_TRY(const Json created,
               hub_.create(controller_revisions(), namespace_of(set), new_revision(set, start, clock_->now())));
  for (std::size_t i = 0; i + kRevisionLimit <= known.size(); ++i) {
    kube::DeleteOptions options;
    options.uid = known[i].uid;
    const Result<Json> removed = hub_.remove(controller_revisions(), namespace_of(set), known[i].name, options);
    if (!removed && removed.error().category != Category::kNotFound) return tl::unexpected(removed.error());
  }
  return std::optional<Revision>(decode_revision(created));
}

Status ReplicaSets::record(const Revision& revision, std::string_view outcome) const {
  if (revision.outcome == outcome) return {};
  Json annotations = Json::object({{std::string(kOutcomeAnnotation), outcome.empty() ? Json() : Json(outcome)}});
  if (!revision.finished || revision.outcome.empty())
    annotations[std::string(kFinishedAnnotation)] = outcome.empty() ? Json() : Json(format_time(clock_->now()));
  const Json body{{"metadata", {{"uid", revision.uid}, {"annotations", std::move(annotations)}}}};
  const Result<Json> stored = hub_.patch(controller_revisions(), revision.ns, revision.name, kube::PatchType::kMerge, body);
  if (!stored && stored.error().category != Category::kNotFound) return tl::unexpected(stored.error());
  return {};
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
      if (!is_deleting(work)) FLEETADM_CHECK(writer_.remove(namespace_of(work), name_of(work), uid_of(work)));
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
  for (const kube::CachedPtr& revision : revisions_->by_index(kByOwner, kube::object_key(set))) {
    const Json object = revision->decode();
    const std::vector<Revision> own = revisions_of(set, {object});
    if (own.empty()) continue;
    kube::DeleteOptions options;
    options.uid = own.front().uid;
    const Result<Json> removed = hub_.remove(controller_revisions(), namespace_of(set), own.front().name, options);
    if (!removed && removed.error().category != Category::kNotFound) return tl::unexpected(removed.error());
  }
  FLEETADM_CHECK(writer_.patch(api::manifest_work_replica_sets(), set, after, {}));
  writer_.forget(set);
  return controller::Outcome{};
}

Result<controller::Outcome> ReplicaSets::reconcile(const std::string& key, const std::stop_token& stop) {
  if (!only_.empty() && key != only_) return controller::Outcome{};
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
    Result<Json> patched = writer_.patch(api::manifest_work_replica_sets(), set, after, {});
    if (!patched) return settle(patched.error());
    set = std::move(*patched);
  }
  Result<controller::Outcome> done = roll(set, stop);
  return done ? done : settle(done.error());
}

Result<controller::Outcome> ReplicaSets::roll(const Json& set, const std::stop_token& stop) {
  const auto tell = [&](Json status) -> Status {
    Json after = set;
    after["status"] = std::move(status);
    FLEETADM_CHECK(writer_.patch(api::manifest_work_replica_sets(), set, after, "status"));
    return {};
  };
  if (const std::string problem = owner_label_problem(set); !problem.empty()) {
    FLEETADM_CHECK(tell(invalid_name_status(set, problem, clock_->now())));
    return controller::Outcome{kMaxRequeue};
  }
  FLEETADM_TRY(const bool caught_up, writer_.caught_up(set, *works_));
  if (!caught_up) return controller::Outcome{kCacheRetry};
  std::optional<Duration> rest;
  const std::map<std::string, PlacementView> views = placements(set, rest);
  FLEETADM_TRY(const std::optional<Revision> revision, revision_of(set, views));
  std::vector<OwnedWork> works;
  for (const kube::CachedPtr& work : works_->by_index(kByOwner, owner_label_of(set)))
    works.push_back(decode_work(work->decode()));
  const ReplicaSetPlan plan = plan_replica_set(set, views, works, revision, clock_->now());
  Status outcome;
  if (plan.missing_placement.empty() && !plan.paused) outcome = writer_.carry_out(set, plan, stop);
  // Paused means that nothing is written any more, once it is said that it is.
  const Json* said = condition_in(list_at(set, {"status", "conditions"}), kRolloutCondition);
  const bool quiet = plan.paused && said != nullptr && str(*said, {"reason"}) == "Paused";
  if (!quiet) FLEETADM_CHECK(tell(replica_set_status(set, plan, views, revision, clock_->now())));
  if (!outcome) {
    log::info(1, "work-replica-set", kube::object_key(set) + ": " + outcome.error().message);
    return tl::unexpected(outcome.error());
  }
  if (plan.missing_placement.empty() && !plan.paused && revision) {
    if (plan.aborted) {
      FLEETADM_CHECK(record(*revision, kOutcomeAborted));
    } else if (plan.over && revision->outcome != kOutcomeComplete) {
      FLEETADM_CHECK(record(*revision, plan.failures ? kOutcomePartial : kOutcomeComplete));
    } else if (revision->outcome == kOutcomeAborted) {
      FLEETADM_CHECK(record(*revision, {}));
    }
  }
  const Duration look_again = std::min(plan.recheck.value_or(kMaxRequeue), rest.value_or(kMaxRequeue));
  return controller::Outcome{std::min(look_again + kAfterTheInstant, kMaxRequeue)};
}

}  // namespace

void add_replica_set_controller(controller::Manager& manager, const kube::Client& hub, std::shared_ptr<Clock> clock,
                                std::string only) {
  auto sets = std::make_shared<ReplicaSets>(hub, std::move(clock), std::move(only));
  sets->wire(manager, sets);
}

}  // namespace fleetadm::work
