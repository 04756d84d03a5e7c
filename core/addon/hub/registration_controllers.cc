// The controllers of add-ons' registration with the hub: rights and identities of agents, their certificate requests, and what
// they need to get tokens (core/addon/rules/registration.h, csr_verdict.h, token_infrastructure.h).
#include "core/addon/hub/addon_controllers.h"
#include "core/addon/hub/csr_controller.h"
#include "core/addon/hub/overlay_objects.h"
#include "core/addon/rules/agent_identity.h"
#include "core/addon/rules/registration.h"
#include "core/addon/rules/token_infrastructure.h"
#include "core/api/kinds.h"

namespace fleetadm::addon {
namespace {

namespace res = kube::resources;
using controller::Manager;
using controller::Outcome;
using rollout::Semantics;

constexpr auto kClusterAgain = std::chrono::seconds(5);
constexpr int kWorkers = 4;

controller::ControllerOptions workers(std::string name, int count) {
  controller::ControllerOptions row;
  row.name = std::move(name);
  row.workers = count;
  return row;
}

/// The add-on that an object belongs to by its namespace and the label of its token infrastructure.
std::vector<std::string> addon_of_token_object(const kube::CachedObject& object) {
  std::string addon = label_of(object.decode(), kTokenAddonLabel);
  if (addon.empty()) return {};
  return {kube::object_key(kube::split_key(object.key()).ns, addon)};
}

class RegistrationWiring {
 public:
  RegistrationWiring(Manager& manager, const kube::Client& hub, const AddonHub& addons, const AddonHubOptions& options)
      : manager_(manager),
        hub_(hub),
        addons_(addons),
        added_(addons.objects->informer(managed_cluster_addons())),
        options_(options) {}

  void registrations() const {
    const auto bindings = of_labels(res::role_bindings(), std::string(api::kAddonNameLabel));
    const auto view = std::make_shared<OverlayObjects>(addons_.objects, OverlayObjects::Caches{{role_bindings(), bindings}});
    const auto queue = manager_.add(
        workers("addon-registration", kWorkers),
        [view, writer = addons_.writer, clock = addons_.clock](const std::string& key, std::stop_token stop) -> Result<Outcome> {
          const kube::ObjectName addon = kube::split_key(key);
          const Pass pass = registration_pass(*view, addon.ns, addon.name, clock->now(), Semantics::kStrict);
          FLEETADM_TRY(const Outcome outcome, writer->carry_out(*view, pass, stop));
          // The add-on may be seen before its cluster.
          const bool waits = pass.changed.empty() && view->get(managed_cluster_addons(), addon.ns, addon.name) != nullptr &&
                             view->get(managed_clusters(), {}, addon.ns) == nullptr;
          return waits ? Outcome{kClusterAgain} : outcome;
        });
    Manager::enqueue_on(*added_, queue);
    Manager::enqueue_on(*bindings, queue, [](const kube::CachedObject& binding) { return label_keys(binding.decode()); });
  }

  void tokens() const {
    const std::string made = std::string(kTokenMadeLabel) + "=true";
    const OverlayObjects::Caches caches{{service_accounts(), of_labels(res::service_accounts(), made)},
                                        {roles(), of_labels(res::roles(), made)},
                                        {role_bindings(), of_labels(res::role_bindings(), made)}};
    const auto view = std::make_shared<OverlayObjects>(addons_.objects, caches);
    const auto queue = manager_.add(
        workers("addon-token-infrastructure", 2),
        [view, writer = addons_.writer, clock = addons_.clock](const std::string& key, std::stop_token stop) -> Result<Outcome> {
          const kube::ObjectName addon = kube::split_key(key);
          auto outcome =
              writer->carry_out(*view, token_pass(*view, addon.ns, addon.name, clock->now(), Semantics::kStrict), stop);
          const ObjectPtr now = view->get(managed_cluster_addons(), addon.ns, addon.name);
          if (outcome || now == nullptr || outcome.error().category == Category::kCancelled) return outcome;
          Pass told;
          told.changed.push_back(with_token_failure(*now, outcome.error(), clock->now()));
          (void)writer->carry_out(*view, told, stop);
          return outcome;
        });
    Manager::enqueue_on(*added_, queue);
    for (const auto& [type, cache] : caches) Manager::enqueue_on(*cache, queue, addon_of_token_object);
  }

  void requests() const {
    kube::InformerOptions which;
    which.label_selector = std::string(api::kClusterNameLabel) + "," + std::string(api::kAddonNameLabel);
    const auto requests = manager_.informer(hub_, res::certificate_signing_requests(), which);
    const auto controller = std::make_shared<AddonCsrController>(hub_, requests, addons_.objects, options_.hub_namespace,
                                                                 addons_.clock, options_.recorder);
    const auto queue = manager_.add(workers("addon-csr", 2), [controller](const std::string& key, std::stop_token stop) {
      return controller->reconcile(key, std::move(stop));
    });
    Manager::enqueue_on(*requests, queue);
  }

 private:
  std::shared_ptr<kube::Informer> of_labels(const kube::Resource& resource, std::string selector) const {
    kube::InformerOptions which;
    which.label_selector = std::move(selector);
    which.indexes.emplace_back(kByLabels, label_keys);
    return manager_.informer(hub_, resource, std::move(which));
  }

  Manager& manager_;
  kube::Client hub_;
  AddonHub addons_;
  std::shared_ptr<kube::Informer> added_;  // the cache of ManagedClusterAddOns
  AddonHubOptions options_;
};

}  // namespace

void add_registration_controllers(Manager& manager, const kube::Client& hub, const AddonHub& addons,
                                  const AddonHubOptions& options) {
  const RegistrationWiring wiring(manager, hub, addons, options);
  wiring.registrations();
  wiring.tokens();
  wiring.requests();
}

}  // namespace fleetadm::addon
