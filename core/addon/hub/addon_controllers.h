// The add-on controllers of the hub (docs/reference/addon.md): installation, the roll-out of configurations, everything that
// concerns one add-on of one cluster, and the certificate requests of agents.
#pragma once

#include <memory>
#include <string>

#include "core/addon/hub/cached_objects.h"
#include "core/addon/hub/config_decisions.h"
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
  std::shared_ptr<ConfigDecisions> decisions = std::make_shared<ConfigDecisions>();
  /// What looks at all add-ons of a declaration waits so long after an event, so that it serves for many.
  Duration gather = std::chrono::milliseconds(200);
};

struct AddonHubOptions {
  std::string hub_namespace;  // where the CA of an add-on's own signer is that names no namespace
  std::shared_ptr<Clock> clock = Clock::system();
  std::shared_ptr<kube::Recorder> recorder = nullptr;  // tells of certificate requests that are left; may be null
};

/// Adds all of them. kNotFound: the hub does not serve the types of add-ons, and nothing was added.
Status add_addon_controllers(controller::Manager& manager, const kube::Client& hub, const AddonHubOptions& options);

/// Adds "addon-install" and "addon-lifecycle" (keys: the declaration).
void add_installation_controllers(controller::Manager& manager, const AddonHub& addons);
/// Adds "addon" (keys: "cluster/add-on"), and "addon-rollout" (keys: the declaration), which decides on its configuration.
void add_cluster_addon_controllers(controller::Manager& manager, const kube::Client& hub, const AddonHub& addons);
/// Adds "addon-csr" (keys: the CSR).
void add_csr_controller(controller::Manager& manager, const kube::Client& hub, const AddonHub& addons,
                        const AddonHubOptions& options);

}  // namespace fleetadm::addon
