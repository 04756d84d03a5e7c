#include "core/proxy/hub/impersonation_controller.h"

#include <optional>
#include <utility>

#include "core/api/gateway.h"
#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/proxy/hub/impersonation.h"
#include "kubeclient/base/log.h"

namespace fleetadm::proxy {
namespace {

namespace types = kube::resources;

constexpr const char* kAll = "all";  // the one key: a role concerns any number of clusters
/// Events come in bursts: each cluster that joins gets roles of its own.
constexpr Duration kSettle = std::chrono::milliseconds(500);

Json identity_of(const Json& object) {
  Json kept = Json::object();
  for (const char* member : {"name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "labels"}) {
    if (const Json* value = find(object, {"metadata", member})) at_or_make(kept, {"metadata", member}) = *value;
  }
  return kept;
}

/// Of a role nothing but what concerns the gateway; most say nothing.
void keep_grants(Json& role) {
  Json kept = identity_of(role);
  if (const auto clusters = clusters_of_role(role)) {
    Json rules = Json::array();
    for (const Json& rule : list_at(role, {"rules"})) {
      if (clusters_of_role({{"rules", Json::array({rule})}})) rules.push_back(rule);
    }
    kept["rules"] = std::move(rules);
  }
  role = std::move(kept);
}

void keep_subjects(Json& binding) {
  Json kept = identity_of(binding);
  for (const char* member : {"roleRef", "subjects"}) {
    if (const Json* value = find(binding, {member})) kept[member] = *value;
  }
  binding = std::move(kept);
}

void keep_acceptance(Json& cluster) {
  Json kept = identity_of(cluster);
  kept["spec"]["hubAcceptsClient"] = flag(cluster, {"spec", "hubAcceptsClient"});
  const std::string names = annotation_of(cluster, api::kMemberNamesAnnotation);
  if (!names.empty()) kept["metadata"]["annotations"][std::string(api::kMemberNamesAnnotation)] = names;
  cluster = std::move(kept);
}

std::vector<Json> decoded(const kube::Informer& cache) {
  std::vector<Json> objects;
  for (const kube::CachedPtr& one : cache.list()) objects.push_back(one->decode());
  return objects;
}

class ImpersonationController {
 public:
  ImpersonationController(controller::Manager& manager, kube::Client hub, const std::string& hub_id)
      : hub_(std::move(hub)), hub_id_(hub_id) {
    clusters_ = projected(manager, api::managed_clusters(), keep_acceptance);
    roles_ = projected(manager, types::cluster_roles(), keep_grants);
    bindings_ = projected(manager, types::cluster_role_bindings(), keep_subjects);
    kube::InformerOptions own;
    own.label_selector = std::string(api::kGatewayWorkLabel);
    works_ = manager.informer(hub_, api::manifest_works(), own);
    kube::InformerOptions published;
    published.ns = api::kHubNamespace;
    published.field_selector = "metadata.name=" + std::string(api::kGatewayConfigMap);
    gateways_ = manager.informer(hub_, types::config_maps(), published);
  }

  std::vector<std::shared_ptr<kube::Informer>> sources() const { return {clusters_, roles_, bindings_, works_, gateways_}; }

  Result<controller::Outcome> reconcile(const std::stop_token& stop) const {
    const kube::Client hub = hub_.with_stop(stop);
    const bool is_published = published();
    if (!is_published && works_->list().empty()) return controller::Outcome{};
    const auto grants = is_published ? proxy_grants(decoded(*roles_), decoded(*bindings_)) : std::vector<ProxyGrant>{};
    Status outcome;
    for (const kube::CachedPtr& cached : clusters_->list()) {
      if (stop.stop_requested()) break;
      const Status kept = keep(hub, cached->key(), cached->decode(), grants);
      if (!kept && outcome) outcome = kept;
    }
    if (!outcome) return fail(outcome.error());
    return controller::Outcome{};
  }

 private:
  std::shared_ptr<kube::Informer> projected(controller::Manager& manager, const kube::Resource& resource,
                                            void (*project)(Json&)) {
    kube::InformerOptions options;
    options.project = project;
    return manager.informer(hub_, resource, std::move(options));
  }

  bool published() const {
    const kube::CachedPtr cached = gateways_->get(kube::object_key(api::kHubNamespace, api::kGatewayConfigMap));
    if (!cached) return false;
    const auto gateway = api::read_gateway(cached->decode());
    return !gateway || gateway->has_value();  // one that cannot be read is one, all the same
  }

  Status keep(const kube::Client& hub, const std::string& cluster, const Json& state,
              const std::vector<ProxyGrant>& grants) const {
    const bool accepted = flag(state, {"spec", "hubAcceptsClient"}) && !is_deleting(state);
    if (!accepted) return {};  // its works go with it
    const bool dialed = api::is_push_member(state);
    FLEETADM_CHECK(remove(hub, cluster, dialed ? kImpersonationWork : kPushImpersonationWork));
    std::optional<Impersonator> impersonator;
    if (!dialed) impersonator = agent_impersonator();
    if (dialed && !hub_id_.empty()) impersonator = push_impersonator(hub_id_, state);
    const Impersonation who = impersonator ? impersonation_at(grants, cluster) : Impersonation{};
    if (who.empty()) return remove(hub, cluster, dialed ? kPushImpersonationWork : kImpersonationWork);
    Json wanted = impersonation_work(cluster, *impersonator, who);
    const kube::CachedPtr cached = works_->get(kube::object_key(cluster, impersonator->work));
    if (!cached) {
      const auto made = hub.create(api::manifest_works(), cluster, wanted);
      // The namespace comes soon after the cluster was accepted. Another work of that name is somebody's own.
      if (!made) return fail(made.error().wrap("cannot give cluster " + cluster + " its rights for the gateway"));
      return {};
    }
    Json live = cached->decode();
    if (is_deleting(live) || object_at(live, {"spec", "workload"}) == object_at(wanted, {"spec", "workload"})) return {};
    live["spec"]["workload"] = std::move(wanted["spec"]["workload"]);
    return hub.update(api::manifest_works(), live).map([](const Json&) {});
  }

  Status remove(const kube::Client& hub, const std::string& cluster, std::string_view work) const {
    const kube::CachedPtr cached = works_->get(kube::object_key(cluster, work));
    if (!cached) return {};
    kube::DeleteOptions how;
    how.uid = cached->uid();
    const auto removed = hub.remove(api::manifest_works(), cluster, std::string(work), how);
    return removed || removed.error().category == Category::kNotFound ? Status{} : fail(removed.error());
  }

  kube::Client hub_;
  const std::string hub_id_;  // empty: the hub dials no members
  std::shared_ptr<kube::Informer> clusters_, roles_, bindings_, works_, gateways_;
};

}  // namespace

void add_impersonation_controller(controller::Manager& manager, const kube::Client& hub, const std::string& hub_id) {
  const auto impersonation = std::make_shared<ImpersonationController>(manager, hub, hub_id);
  controller::ControllerOptions options;
  options.name = "proxy-impersonation";
  const auto queue = manager.add(
      options, [impersonation](const std::string&, const std::stop_token& stop) { return impersonation->reconcile(stop); });
  for (const auto& source : impersonation->sources()) {
    source->on_event(
        [queue](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr&) { queue->add_after(kAll, kSettle); });
  }
}

}  // namespace fleetadm::proxy
