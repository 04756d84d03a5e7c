#include "core/addon/hub/csr_controller.h"

#include <utility>
#include <vector>

#include "core/addon/hub/addon_controllers.h"
#include "core/addon/hub/lean_objects.h"
#include "core/addon/rules/csr_signing.h"
#include "core/api/certificate_request.h"
#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/log.h"

namespace fleetadm::addon {
namespace {

namespace res = kube::resources;
using controller::Outcome;

constexpr const char* kCsrLog = "addon-csr";

constexpr const char* kUnanswered = "unanswered";
constexpr const char* kAny = "/";  // the value of that index that every request has which waits

bool undecided(const Json& csr) { return !api::csr_decided(csr); }

/// Under what a request waits to be approved or signed: its add-on ("<cluster>/<add-on>"), its cluster, and kAny.
std::vector<std::string> unanswered_keys(const Json& csr) {
  if (!undecided(csr) && !api::awaits_certificate(csr)) return {};
  const std::string cluster = label_of(csr, api::kClusterNameLabel);
  return {kube::object_key(cluster, label_of(csr, api::kAddonNameLabel)), cluster, kAny};
}

}  // namespace

AddonCsrController::AddonCsrController(kube::Client hub, std::shared_ptr<kube::Informer> requests,
                                       std::shared_ptr<const ObjectReader> objects, std::string hub_namespace,
                                       std::shared_ptr<Clock> clock, std::shared_ptr<kube::Recorder> recorder)
    : hub_(std::move(hub)),
      requests_(std::move(requests)),
      objects_(std::move(objects)),
      hub_namespace_(std::move(hub_namespace)),
      clock_(std::move(clock)),
      recorder_(std::move(recorder)) {}

Result<Outcome> AddonCsrController::reconcile(const std::string& key, std::stop_token stop) {
  const auto cached = requests_->get(key);
  if (!cached) {
    const std::lock_guard lock(mutex_);
    told_.erase(key);
    return Outcome{};
  }
  const Json seen = cached->decode();
  const bool to_approve = undecided(seen);
  const bool to_sign = api::awaits_certificate(seen) && str(seen, {"spec", "signerName"}) != api::kClientSigner;
  if (!to_approve && !to_sign) return Outcome{};
  const CsrVerdict verdict = judge_addon_request(*objects_, seen);
  if (verdict.answer == CsrVerdict::Answer::kOthers) return Outcome{};
  if (verdict.answer == CsrVerdict::Answer::kRefused) return leave(seen, verdict, to_approve ? "unapproved" : "unsigned");
  const kube::Client hub = hub_.with_stop(std::move(stop));
  return to_approve ? approve(hub, *cached) : sign(hub, *cached);
}

Result<Json> AddonCsrController::live(const kube::Client& hub, const kube::CachedObject& cached,
                                      bool (*waits)(const Json&)) const {
  FLEETADM_TRY(std::optional<Json> now, hub.find(res::certificate_signing_requests(), {}, cached.key()));
  if (!now || uid_of(*now) != cached.uid() || !waits(*now)) return Json();
  return std::move(*now);
}

// The cache may be behind: what is approved or signed is the object that the server has now, by the same rules.
Result<Outcome> AddonCsrController::approve(const kube::Client& hub, const kube::CachedObject& cached) {
  FLEETADM_TRY(Json csr, live(hub, cached, undecided));
  if (csr.is_null() || judge_addon_request(*objects_, csr).answer != CsrVerdict::Answer::kApproved) return Outcome{};
  api::add_approval(csr, kAddonApproval, clock_->now());
  kube::WriteOptions options;
  options.subresource = "approval";
  FLEETADM_TRY([[maybe_unused]] const Json stored, hub.update(res::certificate_signing_requests(), csr, options));
  log::info(1, kCsrLog, cached.key() + ": approved");
  return Outcome{};
}

Result<Outcome> AddonCsrController::sign(const kube::Client& hub, const kube::CachedObject& cached) {
  FLEETADM_TRY(Json csr, live(hub, cached, api::awaits_certificate));
  if (csr.is_null()) return Outcome{};
  const CsrVerdict verdict = judge_addon_request(*objects_, csr);
  if (verdict.answer != CsrVerdict::Answer::kApproved || verdict.signer.is_null()) return Outcome{};
  const SigningCa ca = signing_ca(verdict.signer, hub_namespace_);
  FLEETADM_TRY(const std::optional<Json> secret, hub.find(res::secrets(), ca.ns, ca.name));
  if (!secret)
    return fail(Category::kNotFound, cached.key() + ": the signer's secret " + ca.ns + "/" + ca.name + " does not exist");
  const auto certificate = sign_addon_request(csr, *secret, clock_->now());
  if (!certificate) return fail(certificate.error().wrap(cached.key() + " cannot be signed by secret " + ca.ns + "/" + ca.name));
  csr["status"]["certificate"] = base64_encode(*certificate);
  kube::WriteOptions options;
  options.subresource = "status";
  FLEETADM_TRY([[maybe_unused]] const Json stored, hub.update(res::certificate_signing_requests(), csr, options));
  log::info(1, kCsrLog, cached.key() + ": signed");
  return Outcome{};
}

Outcome AddonCsrController::leave(const Json& csr, const CsrVerdict& verdict, const char* undone) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(told_[name_of(csr)], verdict.why) == verdict.why) return {};
  }
  log::warn(kCsrLog, name_of(csr) + " by " + str(csr, {"spec", "username"}) + " is left " + undone + " (" + verdict.rule +
                         "): " + verdict.why);
  if (recorder_) {
    recorder_->event(csr, "default", "Warning", "CertificateRequestNotApproved", "Approve",
                     std::string("Left ") + undone + ": " + verdict.why.substr(0, 900));
  }
  return {};
}

void add_csr_controller(controller::Manager& manager, const kube::Client& hub, const AddonHub& addons,
                        const AddonHubOptions& options) {
  kube::InformerOptions which;
  which.label_selector = std::string(api::kClusterNameLabel) + "," + std::string(api::kAddonNameLabel);
  which.indexes.emplace_back(kUnanswered, unanswered_keys);
  which.project = keep_of_request;
  const auto requests = manager.informer(hub, res::certificate_signing_requests(), std::move(which));
  const auto csr =
      std::make_shared<AddonCsrController>(hub, requests, addons.objects, options.hub_namespace, addons.clock, options.recorder);
  controller::ControllerOptions lane;
  lane.name = "addon-csr";
  lane.workers = 2;
  const auto queue = manager.add(
      std::move(lane), [csr](const std::string& key, std::stop_token stop) { return csr->reconcile(key, std::move(stop)); });
  controller::Manager::enqueue_on(*requests, queue);
  // What a request waits for may come after it: the add-on, another template, the cluster's acceptance.
  const auto waiting = [requests](const std::string& of) {
    std::vector<std::string> names;
    for (const kube::CachedPtr& one : requests->by_index(kUnanswered, of)) names.push_back(one->key());
    return names;
  };
  const auto by_key = [waiting](const kube::CachedObject& changed) { return waiting(changed.key()); };
  controller::Manager::enqueue_on(*addons.objects->informer(managed_cluster_addons()), queue, by_key);
  controller::Manager::enqueue_on(*addons.objects->informer(managed_clusters()), queue, by_key);
  controller::Manager::enqueue_on(*addons.objects->informer(addon_templates()), queue,
                                  [waiting](const kube::CachedObject&) { return waiting(kAny); });
}

}  // namespace fleetadm::addon
