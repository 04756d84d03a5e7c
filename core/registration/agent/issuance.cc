#include "core/registration/agent/issuance.h"

#include <algorithm>

#include "core/api/certificate_request.h"
#include "core/api/kinds.h"
#include "core/registration/agent/rotation.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/log.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::registration::agent {
namespace {

constexpr std::size_t kNameHashLength = 10;
constexpr std::size_t kTooManyRequests = 10;
constexpr auto kDenialLasts = std::chrono::hours(1);

const Json* condition_of(const Json& request, std::string_view type) {
  for (const Json& condition : list_at(request, {"status", "conditions"})) {
    if (str(condition, {"type"}) == type && str(condition, {"status"}, "True") == "True") return &condition;
  }
  return nullptr;
}

// A pending request of this order, made where there is none: stored before anyone sees it.
Result<HubSecret> prepare(const HubSecretStore& store, const CertificateOrder& order, const std::string& discard) {
  return store.edit([&](HubSecret& secret) -> Status {
    for (const auto& [key, value] : order.early) secret.data[key] = value;
    const std::string request = secret.get(kPendingRequestKey);
    if (!request.empty() && request != discard && !secret.get(kPendingKeyKey).empty()) {
      const auto info = pki::parse_csr(request);
      if (info && same_subject(info->subject, order.subject) && info->dns_names == order.dns_names) return {};
    }
    FLEETADM_TRY(const std::string key, pki::generate_key());
    FLEETADM_TRY(secret.data[kPendingRequestKey], pki::make_csr(key, order.subject, order.dns_names));
    secret.data[kPendingKeyKey] = key;
    return {};
  });
}

Json request_object(const CertificateOrder& order, const std::string& pem) {
  Json spec = {{"request", base64_encode(pem)},
               {"signerName", order.signer},
               {"usages", Json::array({"digital signature", "key encipherment", "client auth"})}};
  if (order.expiration_seconds > 0) spec["expirationSeconds"] = order.expiration_seconds;
  return {{"apiVersion", kube::resources::certificate_signing_requests().api_version()},
          {"kind", kube::resources::certificate_signing_requests().kind},
          {"metadata", {{"name", request_name(order, pem)}, {"labels", order.labels}}},
          {"spec", std::move(spec)}};
}

/// Requests by the user that asks for this one (all requests, where the hub does not tell who asks): other users cannot keep an
/// agent from renewing by making requests with its cluster's label.
Result<std::size_t> requests_of(const kube::Client& hub, const CertificateOrder& order) {
  kube::ListOptions which;
  which.label_selector = order.counted;
  FLEETADM_TRY(const Json list, hub.list(kube::resources::certificate_signing_requests(), {}, which));
  const Json& items = list_at(list, {"items"});
  if (items.size() < kTooManyRequests) return items.size();
  const auto& reviews = kube::resources::self_subject_reviews();
  const Json review{{"apiVersion", reviews.api_version()}, {"kind", reviews.kind}};
  const Result<Json> self = hub.post(reviews.path({}), review, true);
  const std::string user = self ? str(*self, {"status", "userInfo", "username"}) : std::string();
  if (user.empty()) return items.size();
  return static_cast<std::size_t>(std::count_if(items.begin(), items.end(), [&](const Json& request) {
    return str(request, {"spec", "username"}) == user;
  }));
}

bool usable(const std::string& certificate, const std::string& key, const CertificateOrder& order, Instant now) {
  const auto chain = pki::parse_certificates(certificate);
  return chain && same_subject(chain->front().subject, order.subject) && chain->front().not_after > now &&
         pki::key_matches(certificate, key);
}

Result<Issuance> take(const Stores& stores, const CertificateOrder& order, const std::string& name,
                      const std::string& certificate, const std::string& key, Instant now) {
  FLEETADM_TRY(HubSecret stored, stores.issued.edit([&](HubSecret& secret) -> Status {
    for (const auto& [name_of_key, value] : order.early) secret.data[name_of_key] = value;
    for (const auto& [name_of_key, value] : order.late) secret.data[name_of_key] = value;
    put_certificate(secret, certificate, key, now);
    // Another request may have been prepared meanwhile by a second agent; it is of no use any more either way.
    secret.data.erase(kPendingKeyKey);
    secret.data.erase(kPendingRequestKey);
    return {};
  }));
  if (stores.pending.name() != stores.issued.name()) FLEETADM_CHECK(stores.pending.remove());
  return Issuance{Issuance::State::kIssued, name, "client certificate stored", std::move(stored)};
}

}  // namespace

CertificateOrder agent_order(const Identity& identity, const Endpoint& endpoint, const RequestOptions& options) {
  const std::string label(api::kClusterNameLabel);
  CertificateOrder order;
  order.subject = subject_of(identity);
  order.name_prefix = identity.cluster + "-";
  order.labels = {{label, identity.cluster}};
  order.counted = label + "=" + identity.cluster + ",!" + std::string(api::kAddonNameLabel);
  order.signer = api::kClientSigner;
  order.expiration_seconds = options.expiration_seconds;
  order.early = {{kClusterNameKey, identity.cluster}, {kAgentNameKey, identity.agent}};
  order.late = {{kKubeconfigKey, hub_kubeconfig(endpoint)}};
  return order;
}

std::string request_name(const CertificateOrder& order, std::string_view request_pem) {
  return order.name_prefix + sha256_hex(request_pem).substr(0, kNameHashLength);
}

bool is_answered(const Json& request) {
  return !str(request, {"status", "certificate"}).empty() || condition_of(request, "Denied") != nullptr ||
         condition_of(request, "Failed") != nullptr;
}

Result<Issuance> advance(const kube::Client& hub, const Stores& stores, const CertificateOrder& order, const Clock& clock) {
  const kube::Resource& resource = kube::resources::certificate_signing_requests();
  std::string discard;
  // A request that is of no use (denied long ago, expired, somebody else's) is replaced once; the second look decides.
  for (int round = 0;; ++round) {
    FLEETADM_TRY(const HubSecret secret, prepare(stores.pending, order, discard));
    const std::string pem = secret.get(kPendingRequestKey);
    const std::string key = secret.get(kPendingKeyKey);
    const std::string name = request_name(order, pem);
    FLEETADM_TRY(std::optional<Json> found, hub.find(resource, {}, name));
    if (!found) {
      FLEETADM_TRY(const std::size_t others, requests_of(hub, order));
      if (others >= kTooManyRequests) {
        return Issuance{
            Issuance::State::kHalted, name, "Stop creating csr since there are too many csr created already on hub", {}};
      }
      FLEETADM_TRY(found, hub.create_or_get(resource, {}, request_object(order, pem)));
      log::info(1, "registration", "certificate request " + name + " created for " + order.subject.common_name);
    }
    if (str(*found, {"spec", "request"}) != base64_encode(pem)) {
      if (round > 0) return fail(Category::kConflict, "certificate request " + name + " on the hub is not ours");
      discard = pem;
      continue;
    }
    const Json* denied = condition_of(*found, "Denied");
    if (denied == nullptr) denied = condition_of(*found, "Failed");
    if (denied != nullptr) {
      const auto since = parse_time(str(*denied, {"lastUpdateTime"}));
      const bool old = since && clock.now() - *since >= kDenialLasts;
      if (old && round == 0) {
        discard = pem;
        continue;
      }
      return Issuance{
          Issuance::State::kDenied,
          name,
          "certificate request " + name + " was refused: " + str(*denied, {"reason"}) + " " + str(*denied, {"message"}),
          {}};
    }
    const std::string encoded = str(*found, {"status", "certificate"});
    if (encoded.empty() || condition_of(*found, "Approved") == nullptr) {
      return Issuance{Issuance::State::kWaiting, name, "certificate request " + name + " waits for approval", {}};
    }
    FLEETADM_TRY(const std::string certificate, base64_decode(encoded));
    if (usable(certificate, key, order, clock.now())) return take(stores, order, name, certificate, key, clock.now());
    if (round > 0) return fail(Category::kInvalid, "the hub's certificate for request " + name + " is not what was asked for");
    discard = pem;
  }
}

}  // namespace fleetadm::registration::agent
