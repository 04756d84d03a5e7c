#include "core/addon/hub/addon_controllers.h"

#include <utility>

#include "core/addon/hub/standing_controller.h"
#include "core/api/kinds.h"

namespace fleetadm::addon {
namespace {

Status check_addon_types(const kube::Client& hub) {
  for (const kube::Resource* type : {&api::managed_cluster_addons(), &api::cluster_management_addons(), &api::addon_templates(),
                                     &api::addon_deployment_configs()}) {
    kube::ListOptions one;
    one.limit = 1;
    const Status page = hub.list_each(*type, {}, one, [](Json&&) -> Status { return fail(Category::kCancelled, "enough"); });
    if (page || page.error().category != Category::kNotFound) continue;
    return fail(Category::kNotFound, "the hub does not serve " + type->qualified() + " " + type->version,
                "run `fleetadm init` against this cluster again");
  }
  return {};
}

}  // namespace

Status add_addon_controllers(controller::Manager& manager, const kube::Client& hub, const AddonHubOptions& options) {
  FLEETADM_CHECK(check_addon_types(hub));
  AddonHub addons;
  addons.objects = std::make_shared<CachedObjects>(manager, hub, options.clock);
  addons.objects->check_bound_sets(manager);
  addons.writer = std::make_shared<PassWriter>(hub, options.clock);
  addons.clock = options.clock;
  add_installation_controllers(manager, addons);
  add_cluster_addon_controllers(manager, hub, addons);
  add_csr_controller(manager, hub, addons, options);
  add_standing_controller(manager, addons);
  return {};
}

}  // namespace fleetadm::addon
