// The add-on controllers of the hub (docs/reference/addon.md): installation, configuration and its roll-out.
#pragma once

#include <memory>

#include "core/addon/hub/cached_objects.h"
#include "core/addon/hub/pass_writer.h"
#include "core/controller/controller.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::addon {

/// What the controllers of add-ons have in common.
struct AddonHub {
  std::shared_ptr<CachedObjects> objects;
  std::shared_ptr<PassWriter> writer;
  std::shared_ptr<Clock> clock;
};

/// Adds all of them. kNotFound: the hub does not serve the types of add-ons, and nothing was added.
Status add_addon_controllers(controller::Manager& manager, const kube::Client& hub,
                             std::shared_ptr<Clock> clock = Clock::system());

/// Adds "addon-install" (keys: the add-on) and "addon-annotations" (keys: the cluster).
void add_installation_controllers(controller::Manager& manager, const AddonHub& addons);
/// Adds "addon-rollout" (keys: the add-on) and "addon-progress" (keys: "cluster/add-on").
void add_configuration_controllers(controller::Manager& manager, const AddonHub& addons);

}  // namespace fleetadm::addon
