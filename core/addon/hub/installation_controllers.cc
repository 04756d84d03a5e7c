// Add-ons where their placements decide, and who looks after them.
#include "core/addon/hub/addon_controllers.h"
#include "core/addon/hub/declarations.h"
#include "core/addon/rules/installation.h"
#include "core/addon/rules/lifecycle.h"
#include "core/api/kinds.h"

namespace fleetadm::addon {
namespace {

std::string placement_of_decision(const kube::CachedObject& decision) {
  return kube::object_key(kube::split_key(decision.key()).ns, label_of(decision.decode(), api::kPlacementLabel));
}

}  // namespace

void add_installation_controllers(controller::Manager& manager, const AddonHub& addons) {
  // Handlers hold the objects weakly: a cache must not own itself.
  const std::weak_ptr<CachedObjects> weak = addons.objects;
  const auto placed_by = [weak](const std::string& placement) {
    const auto objects = weak.lock();
    return objects ? declarations_where(*objects, [&](const Json& one) { return names_placement(one, placement); })
                   : std::vector<std::string>{};
  };

  controller::ControllerOptions install;
  install.name = "addon-install";
  install.workers = 1;  // one pass has all add-ons of a declaration in memory
  const auto install_queue = manager.add(std::move(install), [addons](const std::string& addon, const std::stop_token& stop) {
    return addons.writer->carry_out(*addons.objects, install_addon(*addons.objects, addon, rollout::Semantics::kStrict), stop);
  });
  const auto& informer = [&](const GroupResource& type) -> kube::Informer& { return *addons.objects->informer(type); };
  controller::Manager::enqueue_on(informer(cluster_management_addons()), install_queue);
  controller::Manager::enqueue_on(informer(placements()), install_queue,
                                  [placed_by](const kube::CachedObject& placement) { return placed_by(placement.key()); });
  controller::Manager::enqueue_on(
      informer(placement_decisions()), install_queue,
      [placed_by](const kube::CachedObject& decision) { return placed_by(placement_of_decision(decision)); });
  informer(managed_cluster_addons())
      .on_event([install_queue, gather = addons.gather](kube::EventType type, const auto& before, const auto& after) {
        // One that was removed comes back, one that was made by hand goes.
        if (type == kube::EventType::kModified) return;
        install_queue->add_after(kube::split_key((after ? after : before)->key()).name, gather);
      });
  informer(managed_clusters())
      .on_event([install_queue, weak, gather = addons.gather](kube::EventType type, const auto&, const auto&) {
        const auto objects = weak.lock();
        if (type != kube::EventType::kAdded || !objects) return;
        for (std::string& name : declarations_where(*objects, [](const Json&) { return true; }))
          install_queue->add_after(std::move(name), gather);
      });

  controller::ControllerOptions lifecycle;
  lifecycle.name = "addon-lifecycle";
  const auto lifecycle_queue = manager.add(std::move(lifecycle), [addons](const std::string& addon, const std::stop_token& stop) {
    return addons.writer->carry_out(*addons.objects, lifecycle_pass(*addons.objects, addon), stop);
  });
  controller::Manager::enqueue_on(informer(cluster_management_addons()), lifecycle_queue);
}

}  // namespace fleetadm::addon
