#include "core/addon/agent/addon_keeper.h"

#include <algorithm>

#include "core/addon/agent/lease_health.h"
#include "core/addon/rules/agent_identity.h"
#include "core/addon/rules/token_infrastructure.h"
#include "core/api/certificate_request.h"
#include "core/api/kinds.h"
#include "kubeclient/base/log.h"

namespace fleetadm::addon::agent {
namespace {

using controller::Outcome;

constexpr const char* kKeeperLog = "addon";

/// The sooner of two looks.
void sooner(Outcome& outcome, const Outcome& other) {
  if (other.requeue_after && (!outcome.requeue_after || *other.requeue_after < *outcome.requeue_after)) outcome = other;
}

}  // namespace

AddonKeeper::AddonKeeper(kube::Client hub, kube::Client spoke, AddonOptions options, std::shared_ptr<Clock> clock)
    : hub_(std::move(hub)), spoke_(std::move(spoke)), options_(std::move(options)), clock_(std::move(clock)) {}

reg::HubSecretStore AddonKeeper::store(const std::string& ns, const std::string& secret, const std::string& addon) const {
  return {spoke_,
          ns,
          secret,
          {{std::string(api::kClusterNameLabel), options_.identity.cluster}, {std::string(api::kAddonNameLabel), addon}}};
}

reg::CertificateOrder AddonKeeper::order_of(const Json& addon, const Registration& registration) const {
  const std::string& cluster = options_.identity.cluster;
  const std::string name = name_of(addon);
  reg::CertificateOrder order;
  order.subject = registration.subject;
  order.dns_names = {agent_dns_name(name)};
  order.name_prefix = "addon-" + cluster + "-" + name + "-";
  order.labels = {{std::string(api::kClusterNameLabel), cluster}, {std::string(api::kAddonNameLabel), name}};
  order.counted = std::string(api::kClusterNameLabel) + "=" + cluster + "," + std::string(api::kAddonNameLabel) + "=" + name;
  order.signer = registration.signer;
  order.early = {{reg::kClusterNameKey, cluster}};
  if (registration.kube_client) order.late = {{reg::kKubeconfigKey, reg::hub_kubeconfig(options_.endpoint)}};
  return order;
}

TokenOrder AddonKeeper::token_order_of(const Json& addon) const {
  TokenOrder order;
  order.cluster = options_.identity.cluster;
  order.account = default_agent(name_of(addon));
  order.expiration_seconds = options_.token_expiration_seconds;
  order.endpoint = options_.endpoint;
  const Json* ready = controller::find_condition(addon, kTokenReady);
  if (ready != nullptr && str(*ready, {"status"}) == "True") order.account_uid = uid_in_message(str(*ready, {"message"}));
  return order;
}

void AddonKeeper::set_condition(const std::string& addon, std::string_view type, std::string_view status, std::string_view reason,
                                const std::string& message) const {
  const auto change = [&](Json& object) -> Status {
    Json& conditions = at_or_make(object, {"status", "conditions"});
    if (!conditions.is_array()) conditions = Json::array();
    controller::set_condition(conditions, type, status, reason, message, clock_->now());
    return {};
  };
  const auto written = hub_.modify(api::managed_cluster_addons(), options_.identity.cluster, addon, change, "status");
  if (!written && written.error().category != Category::kNotFound) {
    log::warn(kKeeperLog, addon + ": condition " + std::string(type) + ": " + written.error().message);
  }
}

Outcome AddonKeeper::keep_one(const Json& addon, const Registration& registration, const std::string& ns, Progress& progress) {
  const std::string name = name_of(addon);
  const CredentialTools tools{
      hub_, *clock_, options_.check,
      [this, name](std::string_view type, bool good, std::string_view reason, const std::string& message) {
        set_condition(name, type, good ? "True" : "False", reason, message);
      }};
  const reg::Stores stores{store(ns, registration.secret + std::string(kRequestSuffix), name),
                           store(ns, registration.secret, name)};
  const bool by_token = options_.driver == kTokenDriver;
  if (registration.kube_client && by_token) return keep_token(tools, stores, token_order_of(addon), progress);
  // The hub has not answered yet that tokens are not wanted any more; it would never approve this subject.
  const std::string account = service_account_user(options_.identity.cluster, default_agent(name));
  if (registration.kube_client && registration.subject.common_name == account) return {};
  return keep_certificate(tools, stores, order_of(addon, registration), progress);
}

Status AddonKeeper::remove(const Kept& kept, const std::string& addon) const {
  FLEETADM_CHECK(store(kept.ns, kept.secret + std::string(kRequestSuffix), addon).remove());
  return store(kept.ns, kept.secret, addon).remove();
}

Result<Outcome> AddonKeeper::keep_credentials(const std::string& name, const std::optional<Json>& addon) {
  KeptSecrets before;
  {
    const std::lock_guard lock(mutex_);
    before = kept_[name];
  }
  KeptSecrets now;
  Outcome outcome;
  if (addon) {
    Json published = *addon;
    if (publish_driver(published, options_.driver)) {
      const auto change = [this](Json& object) -> Status {
        publish_driver(object, options_.driver);
        return {};
      };
      FLEETADM_TRY(published, hub_.modify(api::managed_cluster_addons(), options_.identity.cluster, name, change, "status"));
    }
    const std::string ns = addon_namespace(published);
    for (const Registration& registration : registrations_of(published, options_.identity.agent)) {
      const auto known = before.find(ns + "/" + registration.secret);
      Kept& kept = now[ns + "/" + registration.secret];
      kept = known != before.end() ? known->second : Kept{ns, registration.secret, {}};
      sooner(outcome, keep_one(published, registration, ns, kept.progress));
    }
  }
  Status removed;
  for (const auto& [key, kept] : before) {
    if (now.contains(key)) continue;
    if (const Status gone = remove(kept, name); !gone) {
      now[key] = kept;  // again later
      removed = gone;
    }
  }
  const std::lock_guard lock(mutex_);
  if (now.empty()) {
    kept_.erase(name);
  } else {
    kept_[name] = std::move(now);
  }
  if (!removed) return tl::unexpected<Error>(removed.error());
  return outcome;
}

Result<Outcome> AddonKeeper::keep_health(const std::optional<Json>& addon) {
  if (!addon || is_deleting(*addon) || !reports_by_lease(*addon)) return Outcome{};
  const std::string name = name_of(*addon);
  FLEETADM_TRY(const std::optional<Json> lease, spoke_.find(kube::resources::leases(), addon_namespace(*addon), name));
  const Instant now = clock_->now();
  const Json wanted = lease_condition(lease, name, now);
  const Json* current = controller::find_condition(*addon, "Available");
  const auto same = [&](const char* member) { return current != nullptr && str(*current, {member}) == str(wanted, {member}); };
  if (!same("status") || !same("reason") || !same("message")) {
    set_condition(name, "Available", str(wanted, {"status"}), str(wanted, {"reason"}), str(wanted, {"message"}));
  }
  return Outcome{lease_look(lease, now)};
}

Status AddonKeeper::remove_leftovers(const std::function<std::optional<Json>(const std::string& addon)>& find_addon) {
  kube::ListOptions ours;
  ours.label_selector =
      std::string(api::kClusterNameLabel) + "=" + options_.identity.cluster + "," + std::string(api::kAddonNameLabel);
  const std::string ns(api::kAgentAddonNamespace);
  FLEETADM_TRY(const Json found, spoke_.list(kube::resources::secrets(), ns, ours));
  for (const Json& secret : list_at(found, {"items"})) {
    const std::string addon = label_of(secret, api::kAddonNameLabel);
    const std::optional<Json> found_addon = find_addon(addon);
    if (found_addon && !is_outlived(*found_addon, options_.identity.agent, ns, name_of(secret))) continue;
    FLEETADM_CHECK(store(ns, name_of(secret), addon).remove());
    log::info(1, kKeeperLog,
              "removed secret " + ns + "/" + name_of(secret) + ", which add-on " + addon + " does not need any more");
  }
  return {};
}

}  // namespace fleetadm::addon::agent
