// What wakes the pass over an add-on of a cluster, and the roll-outs that decide for all add-ons of a declaration.
#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <time.h>
#include <utility>

#include "core/addon/hub/addon_controller.h"
#include "core/addon/hub/addon_controllers.h"
#include "core/addon/hub/declarations.h"
#include "core/addon/hub/references.h"
#include "core/addon/rules/template_agent.h"
#include "core/api/kinds.h"

namespace fleetadm::addon {
namespace {

constexpr int kPasses = 8;    // side by side; they wait for the API server most of the time
constexpr int kRollouts = 1;  // a step has all add-ons of a declaration in memory

/// When the next step of a roll-out is taken after an event: a step looks at all add-ons of a declaration, so that one serves for
/// many events, and takes no more than a tenth of the time. Thread-safe.
class RolloutPace {
 public:
  explicit RolloutPace(Duration least) : least_(least) {}
  Duration until_next(const std::string& addon) const {
    const std::lock_guard lock(mutex_);
    const auto took = took_.find(addon);
    return took == took_.end() ? least_ : std::clamp<Duration>(9 * took->second, least_, kMost);
  }
  void note(const std::string& addon, Duration took) {
    const std::lock_guard lock(mutex_);
    took_[addon] = took;
  }
  void forget(const std::string& addon) {
    const std::lock_guard lock(mutex_);
    took_.erase(addon);
  }

 private:
  static constexpr Duration kMost = std::chrono::seconds(5);
  const Duration least_;
  mutable std::mutex mutex_;
  std::map<std::string, Duration> took_;
};

/// The processor time of this thread: a step that had to wait for its turn on a busy machine is no longer one.
Duration computed() {
  timespec spent{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return std::chrono::duration_cast<Duration>(std::chrono::seconds(spent.tv_sec) + std::chrono::nanoseconds(spent.tv_nsec));
}

/// What a roll-out reads of an add-on: other changes are no reason for a step. Thread-safe.
class RolloutFacts {
 public:
  /// Whether they differ from those that were noted before; notes them. Null: the add-on is gone.
  bool changed(const std::string& key, const Json* addon) {
    const std::lock_guard lock(mutex_);
    if (addon == nullptr) return noted_.erase(key) > 0;
    std::string facts =
        dump_json(list_at(*addon, {"spec", "configs"})) + dump_json(list_at(*addon, {"status", "configReferences"}));
    for (const char* type : {"Progressing", "Configured"}) {
      if (const Json* condition = controller::find_condition(*addon, type)) facts += dump_json(*condition);
    }
    const std::size_t hash = std::hash<std::string>{}(facts);
    const auto [known, is_new] = noted_.try_emplace(key, hash);
    return std::exchange(known->second, hash) != hash || is_new;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::size_t> noted_;
};

class ClusterAddonControllers {
 public:
  explicit ClusterAddonControllers(AddonHub addons) : addons_(std::move(addons)), pace_(addons_.gather) {}

  void wire(controller::Manager& manager, const kube::Client& hub, const std::shared_ptr<ClusterAddonControllers>& self);

 private:
  Result<controller::Outcome> roll_out(const std::string& addon, const std::stop_token& stop);
  void wake_on_addons(const std::shared_ptr<ClusterAddonControllers>& self);
  void wake_on_belongings(const std::shared_ptr<ClusterAddonControllers>& self);
  void wake_on_declarations(const std::shared_ptr<ClusterAddonControllers>& self);
  void roll_out_soon(const std::string& addon) { rollouts_->add_after(addon, pace_.until_next(addon)); }
  kube::Informer& informer(const GroupResource& type) const { return *addons_.objects->informer(type); }
  KnownTypes known() const {
    return [objects = addons_.objects](const GroupResource& type) { return objects->knows(type); };
  }

  AddonHub addons_;
  std::shared_ptr<controller::Queue> passes_;
  std::shared_ptr<controller::Queue> rollouts_;
  References references_;
  RolloutPace pace_;
  RolloutFacts facts_;
};

Result<controller::Outcome> ClusterAddonControllers::roll_out(const std::string& addon, const std::stop_token& stop) {
  const ObjectPtr declaration = addons_.objects->get(cluster_management_addons(), {}, addon);
  if (!declaration) {
    addons_.decisions->forget(addon);
    pace_.forget(addon);
    return controller::Outcome{};
  }
  if (addons_.writer->late(*addons_.objects, {*declaration})) return controller::Outcome{kRepeatSoon};
  for (const GroupResource& type : config_types_of(*declaration)) addons_.objects->watch_configs(type);
  const Duration begun = computed();
  RolloutStep step = roll_out_addon(*addons_.objects, addon, known(), addons_.clock->now());
  pace_.note(addon, computed() - begun);
  for (const std::string& cluster : addons_.decisions->take(addon, step)) passes_->add(kube::object_key(cluster, addon));
  Pass told;
  if (step.declaration) told.changed.push_back(std::move(*step.declaration));
  told.errors = std::move(step.errors);
  told.requeue_after = step.requeue_after;
  return addons_.writer->carry_out(*addons_.objects, told, stop);
}

void ClusterAddonControllers::wire(controller::Manager& manager, const kube::Client& hub,
                                   const std::shared_ptr<ClusterAddonControllers>& self) {
  const auto one = std::make_shared<AddonController>(
      hub, AddonController::Parts{addons_.objects, addons_.writer, addons_.decisions, known(),
                                  [](const ObjectReader& objects, const Json& addon) {
                                    return template_agent(objects, addon, rollout::Semantics::kStrict);
                                  },
                                  addons_.clock});
  controller::ControllerOptions passes;
  passes.name = "addon";
  passes.workers = kPasses;
  passes_ = manager.add(std::move(passes),
                        [one](const std::string& key, const std::stop_token& stop) { return one->reconcile(key, stop); });
  controller::ControllerOptions rollouts;
  rollouts.name = "addon-rollout";
  rollouts.workers = kRollouts;
  rollouts_ = manager.add(std::move(rollouts),
                          [self](const std::string& addon, const std::stop_token& stop) { return self->roll_out(addon, stop); });
  for (const GroupResource* type :
       {&managed_cluster_addons(), &cluster_management_addons(), &manifest_works(), &role_bindings()}) {
    informer(*type).on_event(
        [writer = std::weak_ptr(addons_.writer), type](kube::EventType, const auto& before, const auto& after) {
          if (const auto alive = writer.lock()) alive->saw(*type, after, (after ? after : before)->key());
        });
  }
  wake_on_addons(self);
  wake_on_belongings(self);
  wake_on_declarations(self);
}

// Handlers hold everything weakly: a cache must not own itself.

void ClusterAddonControllers::wake_on_addons(const std::shared_ptr<ClusterAddonControllers>& self) {
  const std::weak_ptr<ClusterAddonControllers> weak = self;
  informer(managed_cluster_addons())
      .on_event([weak](kube::EventType, const kube::CachedPtr& before, const kube::CachedPtr& after) {
        const auto all = weak.lock();
        if (!all) return;
        const std::string& key = (after ? after : before)->key();
        const kube::ObjectName name = kube::split_key(key);
        const Json addon = after ? after->decode() : Json();
        all->references_.set(key, after ? objects_read_by(addon) : std::set<std::string>{});
        if (!after) all->addons_.decisions->forget(name.name, name.ns);
        if (all->facts_.changed(key, after ? &addon : nullptr)) all->roll_out_soon(name.name);
        all->passes_->add(key);
      });
}

void ClusterAddonControllers::wake_on_belongings(const std::shared_ptr<ClusterAddonControllers>& self) {
  using controller::Manager;
  Manager::enqueue_on(informer(manifest_works()), passes_,
                      [](const kube::CachedObject& work) { return addon_keys_of_work(work.decode()); });
  Manager::enqueue_on(informer(role_bindings()), passes_,
                      [](const kube::CachedObject& binding) { return addon_keys_of_rights(binding.decode()); });
  for (const auto& cache : addons_.objects->token_informers()) Manager::enqueue_on(*cache, passes_, addon_keys_of_token);
  for (const GroupResource* type : {&managed_clusters(), &addon_templates(), &addon_deployment_configs()}) {
    Manager::enqueue_on(informer(*type), passes_,
                        [weak = std::weak_ptr(self), type](const kube::CachedObject& object) -> std::vector<std::string> {
                          const auto all = weak.lock();
                          if (!all) return {};
                          return all->references_.readers_of(reference_key(*type, object.key()));
                        });
  }
}

void ClusterAddonControllers::wake_on_declarations(const std::shared_ptr<ClusterAddonControllers>& self) {
  const std::weak_ptr<ClusterAddonControllers> weak = self;
  const auto all_of = [](const ClusterAddonControllers& all, const std::string& addon) {
    for (std::string& key : all.addons_.objects->addon_keys_named(addon)) all.passes_->add(std::move(key));
  };
  informer(cluster_management_addons()).on_event([weak, all_of](kube::EventType type, const auto& before, const auto& after) {
    const auto all = weak.lock();
    if (!all) return;
    const std::string& name = (after ? after : before)->key();
    if (type == kube::EventType::kModified) return all->roll_out_soon(name);
    all->rollouts_->add(name);
    all_of(*all, name);
  });
  const auto roll_out_placed = [weak](const std::string& placement) {
    const auto all = weak.lock();
    if (!all) return;
    for (const std::string& name :
         declarations_where(*all->addons_.objects, [&](const Json& one) { return names_placement(one, placement); })) {
      all->roll_out_soon(name);
    }
  };
  informer(placements()).on_event([roll_out_placed](kube::EventType, const auto& before, const auto& after) {
    roll_out_placed((after ? after : before)->key());
  });
  informer(placement_decisions()).on_event([roll_out_placed](kube::EventType, const auto& before, const auto& after) {
    const kube::CachedObject& decision = *(after ? after : before);
    const std::string name = label_of(decision.decode(), api::kPlacementLabel);
    roll_out_placed(kube::object_key(kube::split_key(decision.key()).ns, name));
  });
  addons_.objects->on_config_change([weak, all_of](const GroupResource& type) {
    const auto all = weak.lock();
    if (!all) return;
    const auto concerned = [&](const Json& declaration) {
      const std::vector<GroupResource> types = config_types_of(declaration);
      return std::find(types.begin(), types.end(), type) != types.end();
    };
    // Who reads a template or a deployment configuration is known; of other types it is not.
    const bool wake_all = type != addon_templates() && type != addon_deployment_configs();
    for (const std::string& name : declarations_where(*all->addons_.objects, concerned)) {
      all->roll_out_soon(name);
      if (wake_all) all_of(*all, name);
    }
  });
}

}  // namespace

void add_cluster_addon_controllers(controller::Manager& manager, const kube::Client& hub, const AddonHub& addons) {
  const auto controllers = std::make_shared<ClusterAddonControllers>(addons);
  controllers->wire(manager, hub, controllers);
}

}  // namespace fleetadm::addon
