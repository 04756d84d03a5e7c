#include "core/registration/agent/certificate_keeper.h"

#include <algorithm>

#include "core/api/kinds.h"
#include "kubeclient/base/log.h"

namespace fleetadm::registration::agent {
namespace {

constexpr auto kAfterFailure = std::chrono::seconds(30);
constexpr auto kAfterRefusal = std::chrono::minutes(5);
constexpr int kLongestWaitSeconds = 30;

// "2026-11-21 18:14:19 +0000 UTC" from "2026-11-21T18:14:19Z".
std::string spelled(Instant at) {
  std::string text = format_time(at);
  if (const auto separator = text.find('T'); separator != std::string::npos) text[separator] = ' ';
  if (text.ends_with('Z')) text.pop_back();
  return text + " +0000 UTC";
}

}  // namespace

std::string rotated_message(Instant not_before, Instant not_after) {
  return "client certificate rotated starting from " + spelled(not_before) + " to " + spelled(not_after);
}

CertificateKeeper::CertificateKeeper(kube::Client hub, HubSecretStore store, Options options, std::shared_ptr<Clock> clock,
                                     std::function<void(const HubSecret&)> renewed)
    : hub_(std::move(hub)),
      store_(std::move(store)),
      options_(std::move(options)),
      clock_(std::move(clock)),
      renewed_(std::move(renewed)) {}

Result<controller::Outcome> CertificateKeeper::reconcile(bool accepted) {
  const Instant now = clock_->now();
  const bool same = !changed_.exchange(false) && options_.told && options_.told();
  if (same && settled_ && now < *settled_) return controller::Outcome{std::min<Duration>(options_.check, *settled_ - now)};
  settled_.reset();
  FLEETADM_TRY(const HubSecret secret, store_.load());
  const RenewalPlan plan = plan_renewal(secret, subject_of(options_.identity), now);
  if (plan.due) {
    if (!accepted) return controller::Outcome{options_.check};
    return renew(plan);
  }
  waits_ = 0;
  FLEETADM_CHECK(repair(secret));
  tell(secret);
  settled_ = plan.at;
  return controller::Outcome{std::min<Duration>(options_.check, plan.at - now)};
}

Result<controller::Outcome> CertificateKeeper::renew(const RenewalPlan& plan) {
  log::info(2, "registration", "renewing: " + plan.why);
  Result<Issuance> issuance =
      advance(hub_, {store_, store_}, agent_order(options_.identity, options_.endpoint, options_.request), *clock_);
  if (!issuance) {
    report("False", kCertificateUpdateFailed, "Failed to create CSR " + issuance.error().message);
    return controller::Outcome{kAfterFailure};
  }
  switch (issuance->state) {
    case Issuance::State::kIssued: {
      waits_ = 0;
      tell(issuance->stored);
      if (const auto chain = pki::parse_certificates(issuance->stored.get(kCertificateKey))) {
        report("True", kCertificateUpdated, rotated_message(chain->front().not_before, chain->front().not_after));
      }
      return controller::Outcome{Duration::zero()};
    }
    case Issuance::State::kWaiting:
      // The hub approves renewals by itself within moments; where it does not, a person has to.
      waits_ = std::min(waits_ + 1, kLongestWaitSeconds);
      return controller::Outcome{std::chrono::seconds(waits_)};
    case Issuance::State::kDenied:
      report("False", kCertificateUpdateFailed, "Failed to rotated client certificate " + issuance->detail);
      break;
    case Issuance::State::kHalted: report("False", kCertificateUpdateFailed, issuance->detail); break;
  }
  return controller::Outcome{kAfterRefusal};
}

Status CertificateKeeper::repair(const HubSecret& secret) {
  const Result<Endpoint> endpoint = endpoint_of(secret.get(kKubeconfigKey));
  if (endpoint && *endpoint == options_.endpoint && secret.identity() == options_.identity) return {};
  return store_
      .edit([this](HubSecret& stored) -> Status {
        stored.data[kKubeconfigKey] = hub_kubeconfig(options_.endpoint);
        stored.data[kClusterNameKey] = options_.identity.cluster;
        stored.data[kAgentNameKey] = options_.identity.agent;
        return {};
      })
      .map([](const HubSecret&) {});
}

void CertificateKeeper::tell(const HubSecret& secret) {
  std::string certificate = secret.get(kCertificateKey);
  if (certificate == told_) return;
  told_ = std::move(certificate);
  renewed_(secret);
}

void CertificateKeeper::report(std::string_view status, std::string_view reason, const std::string& message) {
  log::info(0, "registration", message);
  const auto change = [&](Json& cluster) -> Status {
    Json& conditions = at_or_make(cluster, {"status"})["conditions"];
    if (!conditions.is_array()) conditions = Json::array();
    controller::set_condition(conditions, kCertificateRotated, status, reason, message, clock_->now());
    return {};
  };
  const auto written = hub_.modify(api::managed_clusters(), {}, options_.identity.cluster, change, "status");
  if (!written) log::warn("registration", "condition ClusterCertificateRotated: " + written.error().message);
}

}  // namespace fleetadm::registration::agent
