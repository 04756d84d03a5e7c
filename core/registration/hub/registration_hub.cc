#include "core/registration/hub/registration_hub.h"

#include "core/api/kinds.h"
#include "core/registration/hub/acceptance.h"
#include "core/registration/hub/auto_accept.h"
#include "core/registration/hub/cleanup.h"
#include "core/registration/hub/cluster_defaulter.h"
#include "core/registration/hub/csr_controller.h"
#include "core/registration/hub/csr_driver.h"
#include "core/registration/hub/lease_controller.h"
#include "core/registration/hub/sets.h"

namespace fleetadm::registration::hub {
namespace {

namespace res = kube::resources;
using controller::ControllerOptions;
using controller::Manager;

constexpr Duration kSafetyResync = std::chrono::minutes(10);
constexpr Duration kStandardSetsResync = std::chrono::seconds(10);

ControllerOptions named(std::string name, int workers = 1) {
  ControllerOptions options;
  options.name = std::move(name);
  options.workers = workers;
  return options;
}

/// A controller object as a reconcile function that keeps it alive.
template <class Controller>
controller::Reconcile reconciler(std::shared_ptr<Controller> object) {
  return [object](const std::string& key, std::stop_token stop) { return object->reconcile(key, std::move(stop)); };
}

std::vector<std::string> cluster_of_label(const kube::CachedObject& object) {
  std::string cluster = label_of(object.decode(), api::kClusterNameLabel);
  if (cluster.empty()) return {};
  return {std::move(cluster)};
}

std::vector<std::string> cluster_of_namespace(const kube::CachedObject& object) { return {kube::split_key(object.key()).ns}; }

/// Only events that make or remove an object.
bool came_or_went(const kube::CachedPtr& before, const kube::CachedPtr& after) { return !before || !after; }

class Wiring {
 public:
  Wiring(Manager& manager, const kube::Client& client, const RegistrationOptions& options)
      : manager_(manager), client_(client), options_(options), tools_{client, options.clock, options.labels} {
    clusters_ = manager.informer(client, api::managed_clusters());
    sets_ = manager.informer(client, api::managed_cluster_sets());
    cluster_roles_ = labelled(res::cluster_roles());
  }

  /// The driver of certificates last: it takes every cluster that none before it knows.
  Status drivers() {
    if (options_.awsirsa) {
      FLEETADM_TRY(auto awsirsa, AwsIrsaDriver::make(*options_.awsirsa, clusters_));
      drivers_.add(std::move(awsirsa));
    }
    if (!options_.csr) return {};
    kube::InformerOptions which;
    which.label_selector = std::string(api::kClusterNameLabel) + ",!" + std::string(api::kAddonNameLabel);
    requests_ = manager_.informer(client_, res::certificate_signing_requests(), which);
    drivers_.add(std::make_shared<CsrDriver>(requests_, options_.auto_approve_users));
    return {};
  }

  void csrs() const {
    if (requests_) {
      const auto queue = manager_.add(
          named("csr-approval"),
          reconciler(std::make_shared<CsrController>(tools_, requests_, options_.recorder, options_.auto_approve_users)));
      Manager::enqueue_on(*requests_, queue);
    }
    if (options_.auto_approve_users.empty() && !(options_.awsirsa && !options_.awsirsa->patterns.empty())) return;
    const auto accepting =
        manager_.add(named("cluster-auto-accept"),
                     reconciler(std::make_shared<AutoAcceptController>(tools_, clusters_, drivers_, options_.hub_namespace)));
    if (requests_) Manager::enqueue_on(*requests_, accepting, cluster_of_label);
    Manager::enqueue_on(*clusters_, accepting);
  }

  void acceptance() const {
    Grants::Caches caches;
    caches.cluster_roles = cluster_roles_;
    caches.namespaces = labelled(res::namespaces());
    caches.cluster_role_bindings = labelled(res::cluster_role_bindings());
    caches.role_bindings = labelled(res::role_bindings());
    const auto grants = std::make_shared<const Grants>(tools_, caches, options_.hub_namespace, drivers_);
    Manager::enqueue_on(*clusters_, manager_.add(named("cluster-cleanup", 2),
                                                 reconciler(std::make_shared<CleanupController>(tools_, clusters_, grants))));
    const auto queue =
        manager_.add(named("cluster-acceptance", 2),
                     reconciler(std::make_shared<AcceptanceController>(tools_, clusters_, grants, options_.dials_members)));
    Manager::enqueue_on(*clusters_, queue);
    // What someone else changed or removed is brought back at once.
    for (const auto& owned : {caches.namespaces, caches.cluster_roles, caches.cluster_role_bindings, caches.role_bindings}) {
      Manager::enqueue_on(*owned, queue, cluster_of_label);
    }

    const std::string only = "all";
    const auto roles = manager_.add(named("cluster-roles"),
                                    reconciler(std::make_shared<ClusterRolesController>(tools_, clusters_, cluster_roles_)));
    clusters_->on_event([roles, only](kube::EventType, const kube::CachedPtr& before, const kube::CachedPtr& after) {
      if (came_or_went(before, after)) roles->add(only);
    });
    const std::weak_ptr<kube::Informer> all = clusters_;
    Manager::enqueue_on(*cluster_roles_, roles, [only, all](const kube::CachedObject& role) -> std::vector<std::string> {
      const std::string cluster = label_of(role.decode(), api::kClusterNameLabel);
      const auto clusters = all.lock();
      if (cluster.empty() || (clusters && clusters->get(cluster) == nullptr)) return {only};
      return {};
    });
    roles->add(only);
  }

  void cluster_defaulter() const {
    Manager::enqueue_on(*clusters_,
                        manager_.add(named("cluster-upkeep"), reconciler(std::make_shared<ClusterDefaulter>(tools_, clusters_))));
  }

  void leases() const {
    kube::InformerOptions which;
    which.field_selector = "metadata.name=" + std::string(api::kClusterLease);
    const auto leases = manager_.informer(client_, res::leases(), which);
    const auto sightings = std::make_shared<LeaseObservations>(options_.clock);
    const auto queue =
        manager_.add(named("cluster-lease", 2),
                     reconciler(std::make_shared<LeaseController>(tools_, clusters_, leases, sightings, options_.recorder)));
    leases->on_event([sightings](kube::EventType type, const kube::CachedPtr& before, const kube::CachedPtr& after) {
      sightings->observe(type, after ? *after : *before);
    });
    Manager::enqueue_on(*leases, queue, cluster_of_namespace);
    Manager::enqueue_on(*clusters_, queue);
  }

  void sets() const {
    ControllerOptions standard = named("standard-sets");
    standard.resync = kStandardSetsResync;
    standard.resync_keys = {std::string(api::kDefaultClusterSet), std::string(api::kGlobalClusterSet)};
    Manager::enqueue_on(*sets_, manager_.add(standard, reconciler(std::make_shared<StandardSetsController>(tools_, sets_))));

    const auto labels = std::make_shared<ClusterLabels>();
    ControllerOptions counting = named("set-status");
    counting.resync = kSafetyResync;
    counting.resync_keys = {SetStatusController::kLabelSets};
    const auto status = manager_.add(counting, reconciler(std::make_shared<SetStatusController>(tools_, sets_, labels)));
    Manager::enqueue_on(*sets_, status);
    clusters_->on_event([labels, status](kube::EventType type, const kube::CachedPtr& before, const kube::CachedPtr& after) {
      std::vector<std::string> touched;
      if (!labels->observe(type, after ? *after : *before, touched)) return;
      for (std::string& set : touched) {
        if (!set.empty()) status->add(std::move(set));
      }
      status->add(SetStatusController::kLabelSets);
    });

    const auto bindings = manager_.informer(client_, api::managed_cluster_set_bindings());
    const auto bound =
        manager_.add(named("binding-status"), reconciler(std::make_shared<BindingStatusController>(tools_, bindings, sets_)));
    Manager::enqueue_on(*bindings, bound);
    const std::weak_ptr<kube::Informer> all = bindings;
    sets_->on_event([all, bound](kube::EventType, const kube::CachedPtr& before, const kube::CachedPtr& after) {
      const auto list = all.lock();
      if (!list || !came_or_went(before, after)) return;
      for (const auto& binding : list->list()) bound->add(binding->key());
    });
  }

 private:
  std::shared_ptr<kube::Informer> labelled(const kube::Resource& resource) const {
    kube::InformerOptions which;
    which.label_selector = std::string(api::kClusterNameLabel);
    return manager_.informer(client_, resource, which);
  }

  Manager& manager_;
  const kube::Client& client_;
  const RegistrationOptions& options_;
  Tools tools_;
  std::shared_ptr<kube::Informer> clusters_, sets_, cluster_roles_;
  std::shared_ptr<kube::Informer> requests_;  // null: agents get no certificates
  RegistrationDrivers drivers_;
};

}  // namespace

Status add_registration_controllers(Manager& manager, const kube::Client& client, const RegistrationOptions& options) {
  Wiring wiring(manager, client, options);
  FLEETADM_CHECK(wiring.drivers());
  wiring.csrs();
  wiring.acceptance();
  wiring.cluster_defaulter();
  wiring.leases();
  wiring.sets();
  return {};
}

}  // namespace fleetadm::registration::hub
