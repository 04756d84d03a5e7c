// The add-on controllers of the hub (docs/reference/addon.md): installation, configuration and its roll-out,
// registration of their agents.
#pragma once

#include <memory>
#include <string>

#include "core/addon/hub/cached_objects.h"
#include "core/addon/hub/pass_writer.h"
#include "core/controller/controller.h"
#include "kubeclient/events/recorder.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::addon {

/// What the controllers of add-ons have in common.
struct AddonHub {
  std::shared_ptr<CachedObjects> objects;
  std::shared_ptr<PassWriter> writer;
  std::shared_ptr<Clock> clock;
};

struct AddonHubOptions {
  std::string hub_namespace;  // where the CA of an add-on's own signer is that names no namespace
  std::shared_ptr<Clock> clock = Clock::system();
  std::shared_ptr<kube::Recorder> recorder = nullptr;  // tells of certificate requests that are left; may be null
};

/// Adds all of them. kNotFound: the hub does not serve the types of add-ons, and nothing was added.
Status add_addon_controllers(controller::Manager& manager, const kube::Client& hub, const AddonHubOptions& options);

/// Adds "addon-install" (keys: the add-on) and "addon-annotations" (keys: the cluster).
void add_installation_controllers(controller::Manager& manager, const AddonHub& addons);
/// Adds "addon-rollout" (keys: the add-on) and "addon-progress" (keys: "cluster/add-on").
void add_configuration_controllers(controller::Manager& manager, const AddonHub& addons);
/// Adds "addon-registration" and "addon-token-infrastructure" (keys: "cluster/add-on") and "addon-csr" (keys: the CSR).
void add_registration_controllers(controller::Manager& manager, const kube::Client& hub, const AddonHub& addons,
                                  const AddonHubOptions& options);
/// Adds "addon-deploy" (keys: "cluster/add-on") and "addon-lifecycle" (keys: the add-on).
void add_deploy_controllers(controller::Manager& manager, const kube::Client& hub, const AddonHub& addons);

}  // namespace fleetadm::addon
