#include "core/addon/agent/addon_controllers.h"

#include "core/api/kinds.h"
#include "kubeclient/base/log.h"

namespace fleetadm::addon::agent {
namespace {

using controller::Manager;
using controller::Outcome;

constexpr auto kSoon = std::chrono::seconds(5);
constexpr const char* kLeftovers = "leftovers";  // the one key of that controller

std::vector<std::string> addon_name(const kube::CachedObject& addon) { return {kube::split_key(addon.key()).name}; }

/// Failures come back within seconds, never after a long back-off.
controller::Reconcile soon_again(std::function<Result<Outcome>(const std::string&)> reconcile) {
  return [reconcile = std::move(reconcile)](const std::string& key, std::stop_token) -> Result<Outcome> {
    auto outcome = reconcile(key);
    if (outcome) return outcome;
    log::warn("addon", key + ": " + outcome.error().message);
    return Outcome{kSoon};
  };
}

}  // namespace

void add_addon_controllers(Manager& manager, const kube::Client& hub, const kube::Client& spoke, const AddonOptions& options,
                           std::shared_ptr<Clock> clock) {
  kube::InformerOptions own;
  own.ns = options.identity.cluster;
  const auto addons = manager.informer(hub, api::managed_cluster_addons(), own);
  const auto keeper = std::make_shared<AddonKeeper>(hub, spoke, options, std::move(clock));
  const auto get = [addons, cluster = options.identity.cluster](const std::string& name) -> std::optional<Json> {
    const kube::CachedPtr cached = addons->get(kube::object_key(cluster, name));
    if (cached == nullptr) return std::nullopt;
    return cached->decode();
  };
  controller::ControllerOptions row;
  row.name = "addon-credentials";
  row.workers = 2;
  const auto credentials =
      manager.add(row, soon_again([keeper, get](const std::string& name) { return keeper->keep_credentials(name, get(name)); }));
  row.name = "addon-lease";
  row.workers = 1;
  const auto health =
      manager.add(row, soon_again([keeper, get](const std::string& name) { return keeper->keep_health(get(name)); }));
  row.name = "addon-leftovers";
  const auto leftovers = manager.add(row, [keeper, get](const std::string&, std::stop_token) -> Result<Outcome> {
    const Status removed = keeper->remove_leftovers(get);
    if (!removed) log::info(1, "addon", "credentials of add-ons that are gone: " + removed.error().message);
    return Outcome{};
  });
  Manager::enqueue_on(*addons, credentials, addon_name);
  Manager::enqueue_on(*addons, health, addon_name);
  leftovers->add(kLeftovers);
}

}  // namespace fleetadm::addon::agent
