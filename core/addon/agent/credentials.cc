#include "core/addon/agent/credentials.h"

#include <algorithm>

#include "core/registration/agent/certificate_keeper.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/token_claims.h"
#include "kubeclient/pki/pki.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::addon::agent {
namespace {

using controller::Outcome;

constexpr const char* kLog = "addon";
constexpr const char* kTokenKey = "token";
constexpr auto kAfterRefusal = std::chrono::minutes(5);
constexpr int kLongestWaitSeconds = 30;
constexpr double kRefreshShare = 0.2;  // of a token's lifetime

/// A little later each time: the hub answers within moments, or somebody has to do something.
Outcome wait_a_little(Progress& progress) {
  progress.waits = std::min(progress.waits + 1, kLongestWaitSeconds);
  return {std::chrono::seconds(progress.waits)};
}

void report_rotation(const CredentialTools& tools, bool good, const std::string& message) {
  tools.report(reg::kCertificateRotated, good, good ? reg::kCertificateUpdated : reg::kCertificateUpdateFailed, message);
}

void report_issued(const CredentialTools& tools, const reg::HubSecret& secret) {
  const auto chain = pki::parse_certificates(secret.get(reg::kCertificateKey));
  if (chain) report_rotation(tools, true, reg::rotated_message(chain->front().not_before, chain->front().not_after));
}

void report_token(const CredentialTools& tools, const TokenOrder& order) {
  tools.report("TokenRefreshed", true, "AddonTokenRefreshed", "token of ServiceAccount " + order.account + " refreshed");
}

bool holds(const reg::HubSecret& secret, const std::map<std::string, std::string>& data) {
  return std::all_of(data.begin(), data.end(), [&](const auto& item) { return secret.get(item.first) == item.second; });
}

/// What stands beside the certificate is as it should be: the hub's address may have changed, and a token of an earlier driver is
/// of no use any more.
Status repair(const reg::Stores& stores, const reg::CertificateOrder& order, const reg::HubSecret& secret) {
  if (holds(secret, order.early) && holds(secret, order.late) && secret.get(kTokenKey).empty()) return {};
  return stores.issued
      .edit([&](reg::HubSecret& stored) -> Status {
        for (const auto* data : {&order.early, &order.late}) {
          for (const auto& [key, value] : *data) stored.data[key] = value;
        }
        stored.data.erase(kTokenKey);
        return {};
      })
      .map([](const reg::HubSecret&) {});
}

Outcome renew(const CredentialTools& tools, const reg::Stores& stores, const reg::CertificateOrder& order, Progress& progress) {
  const Result<reg::Issuance> issuance = reg::advance(tools.hub, stores, order, tools.clock);
  if (!issuance) {
    log::info(1, kLog, stores.issued.name() + ": " + issuance.error().message);
    // The namespace comes with the add-on's manifests, often a moment later: no failure worth a condition.
    if (issuance.error().category != Category::kNotFound) {
      report_rotation(tools, false, "Failed to create CSR " + issuance.error().message);
    }
    return wait_a_little(progress);
  }
  switch (issuance->state) {
    case reg::Issuance::State::kIssued: {
      progress.waits = 0;
      progress.tidied = true;
      report_issued(tools, issuance->stored);
      return {Duration::zero()};
    }
    case reg::Issuance::State::kWaiting: return wait_a_little(progress);
    case reg::Issuance::State::kDenied:
      report_rotation(tools, false, "Failed to rotated client certificate " + issuance->detail);
      break;
    case reg::Issuance::State::kHalted: report_rotation(tools, false, issuance->detail); break;
  }
  return {kAfterRefusal};
}

/// When the token has to be replaced, or nothing where that is now.
std::optional<Instant> refresh_at(const reg::HubSecret& secret, const TokenOrder& order, Instant now) {
  const auto claims = token_claims(secret.get(kTokenKey));
  if (!claims || claims->account_uid != order.account_uid) return std::nullopt;
  const auto left = std::chrono::duration_cast<Duration>((claims->expires - claims->issued) * kRefreshShare);
  const Instant at = claims->expires - left;
  if (now >= at) return std::nullopt;
  return at;
}

Result<std::string> request_token(const CredentialTools& tools, const TokenOrder& order) {
  Json request{{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", Json::object()}};
  if (order.expiration_seconds > 0) request["spec"]["expirationSeconds"] = order.expiration_seconds;
  const std::string path = kube::resources::service_accounts().path(order.cluster, order.account) + "/token";
  FLEETADM_TRY(const Json answer, tools.hub.post(path, request, false));
  std::string token = str(answer, {"status", "token"});
  const auto claims = token_claims(token);
  if (!claims || claims->account_uid != order.account_uid) {
    return fail(Category::kInvalid, "the hub's token is not of ServiceAccount " + order.cluster + "/" + order.account);
  }
  return token;
}

}  // namespace

Outcome keep_certificate(const CredentialTools& tools, const reg::Stores& stores, const reg::CertificateOrder& order,
                         Progress& progress) {
  const auto secret = stores.issued.load();
  if (!secret) {
    log::warn(kLog, stores.issued.name() + ": " + secret.error().message);
    return wait_a_little(progress);
  }
  const Instant now = tools.clock.now();
  const reg::RenewalPlan plan = reg::plan_renewal(*secret, order.subject, now);
  if (plan.due) return renew(tools, stores, order, progress);
  Status kept = repair(stores, order, *secret);
  if (kept && !progress.tidied) kept = stores.pending.remove();
  if (!kept) {
    log::warn(kLog, kept.error().message);
    return wait_a_little(progress);
  }
  if (!progress.tidied) report_issued(tools, *secret);
  progress = {0, true};
  return {std::min<Duration>(tools.check, plan.at - now)};
}

Outcome keep_token(const CredentialTools& tools, const reg::Stores& stores, const TokenOrder& order, Progress& progress) {
  const reg::HubSecretStore& store = stores.issued;
  if (order.account_uid.empty()) return {};  // the condition that names it comes with an event
  const std::string kubeconfig = reg::hub_kubeconfig(order.endpoint, reg::StoredCredential::kToken);
  const Instant now = tools.clock.now();
  const auto keep = [&]() -> Result<Outcome> {
    FLEETADM_TRY(const reg::HubSecret secret, store.load());
    const auto at = refresh_at(secret, order, now);
    std::string token = secret.get(kTokenKey);
    if (at && secret.get(reg::kKubeconfigKey) == kubeconfig) {
      if (!progress.tidied) {
        FLEETADM_CHECK(stores.pending.remove());  // of a certificate that an earlier driver asked for
        report_token(tools, order);
      }
      progress.tidied = true;
      return Outcome{std::min<Duration>(tools.check, *at - now)};
    }
    if (!at) {
      FLEETADM_TRY(token, request_token(tools, order));
    }
    FLEETADM_TRY([[maybe_unused]] const reg::HubSecret stored, store.edit([&](reg::HubSecret& edited) -> Status {
      edited.data = {{reg::kClusterNameKey, order.cluster}, {reg::kKubeconfigKey, kubeconfig}, {kTokenKey, token}};
      return {};
    }));
    if (!at)
      tools.report("TokenRefreshed", true, "AddonTokenRefreshed", "token of ServiceAccount " + order.account + " refreshed");
    return Outcome{Duration::zero()};
  };
  auto outcome = keep();
  if (outcome) {
    progress.waits = 0;
    return *outcome;
  }
  log::info(1, kLog, store.name() + ": " + outcome.error().message);
  if (outcome.error().category != Category::kNotFound) {
    tools.report("TokenRefreshed", false, "TokenCreationFailed", outcome.error().message);
  }
  return wait_a_little(progress);
}

}  // namespace fleetadm::addon::agent
