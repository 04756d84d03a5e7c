// The roll-out of configurations, and the progress of each add-on.
#include <utility>

#include "core/addon/hub/addon_controllers.h"
#include "core/addon/hub/declarations.h"
#include "core/addon/rules/configuration.h"
#include "core/addon/rules/install_progression.h"
#include "core/addon/rules/installation.h"
#include "core/addon/rules/progressing.h"
#include "core/api/kinds.h"

namespace fleetadm::addon {
namespace {

// Many add-ons report at once: one look at all of them serves them all.
constexpr Duration kGather = std::chrono::milliseconds(200);

class ConfigurationControllers {
 public:
  explicit ConfigurationControllers(AddonHub addons) : addons_(std::move(addons)) {}

  void wire(controller::Manager& manager, const std::shared_ptr<ConfigurationControllers>& self);

 private:
  Result<controller::Outcome> roll_out(const std::string& addon, const std::stop_token& stop);
  Result<controller::Outcome> look_after(const std::string& key, const std::stop_token& stop);
  KnownTypes known() const {
    return [objects = addons_.objects](const GroupResource& type) { return objects->knows(type); };
  }

  AddonHub addons_;
};

Result<controller::Outcome> ConfigurationControllers::roll_out(const std::string& addon, const std::stop_token& stop) {
  const ObjectPtr declaration = addons_.objects->get(cluster_management_addons(), {}, addon);
  if (!declaration) return controller::Outcome{};
  for (const GroupResource& type : config_types_of(*declaration)) addons_.objects->watch_configs(type);
  const Pass pass = roll_out_addon(*addons_.objects, addon, known(), addons_.clock->now());
  return addons_.writer->carry_out(*addons_.objects, pass, stop);
}

Result<controller::Outcome> ConfigurationControllers::look_after(const std::string& key, const std::stop_token& stop) {
  const auto [cluster, name] = kube::split_key(key);
  const ObjectPtr addon = addons_.objects->get(managed_cluster_addons(), cluster, name);
  const ObjectPtr declaration = addons_.objects->get(cluster_management_addons(), {}, name);
  if (!addon || !declaration) return controller::Outcome{};
  Pass pass;
  Json after = *addon;
  set_owner(after, *declaration);
  observe_configs(after, *addons_.objects, known(), rollout::Semantics::kStrict);
  judge_progress(after, *declaration, *addons_.objects, addons_.clock->now());
  if (after != *addon) pass.changed.push_back(std::move(after));
  return addons_.writer->carry_out(*addons_.objects, pass, stop);
}

void ConfigurationControllers::wire(controller::Manager& manager, const std::shared_ptr<ConfigurationControllers>& self) {
  controller::ControllerOptions rollout;
  rollout.name = "addon-rollout";
  rollout.workers = 4;
  const auto rollouts = manager.add(
      std::move(rollout), [self](const std::string& addon, std::stop_token stop) { return self->roll_out(addon, stop); });
  controller::ControllerOptions progress;
  progress.name = "addon-progress";
  progress.workers = 4;
  const auto progresses = manager.add(
      std::move(progress), [self](const std::string& key, std::stop_token stop) { return self->look_after(key, stop); });

  // Handlers hold the objects weakly: a cache must not own itself.
  const std::weak_ptr<CachedObjects> weak = addons_.objects;
  const auto informer = [&](const GroupResource& type) -> kube::Informer& { return *addons_.objects->informer(type); };
  const auto placed_by = [weak](const std::string& placement) {
    const auto objects = weak.lock();
    return objects ? declarations_where(*objects, [&](const Json& one) { return names_placement(one, placement); })
                   : std::vector<std::string>{};
  };
  const auto all_of = [weak, progresses](const std::string& addon) {
    const auto objects = weak.lock();
    if (!objects) return;
    for (std::string& key : objects->addon_keys_named(addon)) progresses->add(std::move(key));
  };
  informer(cluster_management_addons()).on_event([rollouts, all_of](kube::EventType type, const auto& before, const auto& after) {
    const std::string name = (after ? after : before)->key();
    rollouts->add(name);
    if (type == kube::EventType::kAdded) all_of(name);
  });
  informer(managed_cluster_addons()).on_event([rollouts, progresses](kube::EventType, const auto& before, const auto& after) {
    const std::string& key = (after ? after : before)->key();
    rollouts->add_after(kube::split_key(key).name, kGather);
    progresses->add(key);
  });
  controller::Manager::enqueue_on(informer(manifest_works()), progresses,
                                  [](const kube::CachedObject& work) { return addon_keys_of_work(work.decode()); });
  controller::Manager::enqueue_on(informer(placements()), rollouts,
                                  [placed_by](const kube::CachedObject& placement) { return placed_by(placement.key()); });
  controller::Manager::enqueue_on(informer(placement_decisions()), rollouts, [placed_by](const kube::CachedObject& decision) {
    const std::string name = label_of(decision.decode(), api::kPlacementLabel);
    return placed_by(kube::object_key(kube::split_key(decision.key()).ns, name));
  });
  addons_.objects->on_config_change([weak, rollouts, all_of](const GroupResource& type) {
    const auto objects = weak.lock();
    if (!objects) return;
    const auto concerned = [&](const Json& declaration) {
      for (const GroupResource& one : config_types_of(declaration)) {
        if (one == type) return true;
      }
      return false;
    };
    for (const std::string& name : declarations_where(*objects, concerned)) {
      rollouts->add_after(name, kGather);
      all_of(name);
    }
  });
}

}  // namespace

void add_configuration_controllers(controller::Manager& manager, const AddonHub& addons) {
  auto controllers = std::make_shared<ConfigurationControllers>(addons);
  controllers->wire(manager, controllers);
}

}  // namespace fleetadm::addon
