#include "core/proxy/hub/gateway_keeper.h"

#include <utility>

#include "core/install/install.h"
#include "core/proxy/peers/peer_identity.h"
#include "kubeclient/base/ip_address.h"
#include "kubeclient/base/log.h"

namespace fleetadm::proxy {
namespace {

namespace types = kube::resources;

constexpr const char* kComponent = "gateway";
constexpr int kLastThird = 3;
constexpr int kWithdrawals = 5;  // tried while others write

bool installed_here(const Json& object) { return label_of(object, install::kPartLabel) == install::kHubPart; }

Json metadata(std::string_view ns, std::string_view name) {
  return {{"name", name}, {"namespace", ns}, {"labels", {{install::kPartLabel, install::kHubPart}}}};
}

tl::unexpected<Error> not_ours(std::string_view kind, std::string_view ns, std::string_view name, std::string_view why) {
  return fail(Category::kConflict,
              std::string(kind) + " " + kube::object_key(ns, name) + " " + std::string(why) + " and is not labeled " +
                  std::string(install::kPartLabel) + "=" + std::string(install::kHubPart),
              "delete or rename it; the gateway creates one of its own");
}

/// Of a Secret whose keys somebody else chose: it may have no bundle.
std::optional<pki::Authority> foreign_authority(Json secret) {
  Json& data = at_or_make(secret, {"data"});
  if (!data.contains("ca-bundle.crt") && data.contains("ca.crt")) data["ca-bundle.crt"] = data["ca.crt"];
  return pki::read_authority(secret);
}

}  // namespace

GatewayKeeper::GatewayKeeper(kube::Client hub, GatewayKeeperOptions options)
    : hub_(std::move(hub)), options_(std::move(options)) {}

Result<bool> GatewayKeeper::renew() {
  FLEETADM_TRY(const pki::Authority now, authority());
  trusted_ = now.bundle;
  const bool other_ca = serving_ca_ != now.ca.certificate;
  const bool due = pki::is_due(serving_.certificate, options_.clock->now(), kLastThird);
  const bool known = published_.find(now.ca.certificate) != std::string::npos;
  if (!serving_.certificate.empty() && !(other_ca ? known : due)) return false;
  FLEETADM_TRY(peer_, issue_peer(now));
  FLEETADM_TRY(serving_, issue(now));
  serving_ca_ = now.ca.certificate;
  return true;
}

Result<pki::Authority> GatewayKeeper::authority() const {
  FLEETADM_TRY(const auto secret, hub_.find(types::secrets(), options_.ns, api::kGatewayAuthoritySecret));
  if (secret && !installed_here(*secret)) {
    auto theirs = foreign_authority(*secret);
    if (!theirs) return not_ours("Secret", options_.ns, api::kGatewayAuthoritySecret, "has no CA in ca.crt and ca.key");
    return std::move(*theirs);
  }
  const Instant now = options_.clock->now();
  auto known = secret ? pki::read_authority(*secret) : std::nullopt;
  if (known && !pki::is_due(known->ca.certificate, now)) return std::move(*known);
  FLEETADM_TRY(pki::Authority made, pki::renew_authority(known, "fleetadm-gateway-ca", kGatewayCaLife, now));
  // A conflict is another replica's CA: the next pass takes it over.
  if (secret) {
    Json changed = *secret;
    changed["data"] = pki::authority_data(made);
    FLEETADM_CHECK(hub_.update(types::secrets(), changed));
  } else {
    FLEETADM_CHECK(hub_.create(types::secrets(), options_.ns,
                               {{"apiVersion", "v1"},
                                {"kind", "Secret"},
                                {"metadata", metadata(options_.ns, api::kGatewayAuthoritySecret)},
                                {"type", "Opaque"},
                                {"data", pki::authority_data(made)}}));
  }
  log::info(1, kComponent, "the gateway has a new CA");
  return made;
}

Result<pki::KeyPair> GatewayKeeper::issue(const pki::Authority& authority) const {
  const std::string service = std::string(api::kGatewayService) + "." + options_.ns;
  std::vector<std::string> names{service, service + ".svc", service + ".svc.cluster.local", "localhost"};
  std::vector<std::string> addresses{"127.0.0.1", "::1"};
  for (const std::string& host : options_.hosts) (IpAddress::parse(host) ? addresses : names).push_back(host);
  return pki::issue_serving(authority, api::kGatewayService, std::move(names), std::move(addresses), kGatewayServingLife);
}

/// Of a server and a client at once: replicas call each other.
Result<pki::KeyPair> GatewayKeeper::issue_peer(const pki::Authority& authority) const {
  pki::LeafOptions leaf;
  leaf.subject = {std::string(kPeerUser), {std::string(kPeerOrganization)}, {}};
  for (const std::string& host : options_.hosts) (IpAddress::parse(host) ? leaf.ip_addresses : leaf.dns_names).push_back(host);
  leaf.server = true;
  leaf.client = true;
  leaf.validity = kGatewayServingLife;
  leaf.backdate = pki::kClocksApart;
  return pki::issue(authority.ca, leaf);
}

Status GatewayKeeper::publish(const GatewayReplica& own, std::string_view exposed_problem) {
  const auto add = [&](const Json& config_map) {
    const Instant now = options_.clock->now();
    return with_exposed_condition(with_replica(config_map, own, trusted_, now), exposed_problem, now);
  };
  FLEETADM_TRY(const auto live, hub_.find(types::config_maps(), options_.ns, api::kGatewayConfigMap));
  if (live && !installed_here(*live)) return not_ours("ConfigMap", options_.ns, api::kGatewayConfigMap, "is somebody else's");
  peers_ = live ? peers_of(*live, own, options_.clock->now()) : std::vector<std::string>();
  konnectivity_replicas_ = proxy::konnectivity_replicas(live.value_or(Json::object()), own, options_.clock->now());
  if (!live) {
    FLEETADM_CHECK(hub_.create(
        types::config_maps(), options_.ns,
        add({{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", metadata(options_.ns, api::kGatewayConfigMap)}})));
  } else if (Json wanted = add(*live); wanted != *live) {
    FLEETADM_CHECK(hub_.update(types::config_maps(), wanted));
  }
  published_ = trusted_;
  return {};
}

Status GatewayKeeper::withdraw(const GatewayReplica& own) const {
  // The program is being stopped, which ends its other requests, and replicas write at the same time.
  const kube::Client hub = hub_.with_stop({});
  for (int tries = kWithdrawals;; --tries) {
    FLEETADM_TRY(const auto live, hub.find(types::config_maps(), options_.ns, api::kGatewayConfigMap));
    if (!live || !installed_here(*live)) return {};
    const Json left = without_replica(*live, own, options_.clock->now());
    if (left == *live) return {};
    const auto written = hub.update(types::config_maps(), left);
    if (written) return {};
    if (written.error().category != Category::kConflict || tries == 1) return fail(written.error());
  }
}

}  // namespace fleetadm::proxy
