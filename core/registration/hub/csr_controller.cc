#include "core/registration/hub/csr_controller.h"

#include "core/registration/hub/csr_rules.h"
#include "kubeclient/base/log.h"

namespace fleetadm::registration::hub {
namespace {

namespace res = kube::resources;
using controller::Outcome;

constexpr const char* kCsrName = "csr-approval";

}  // namespace

Result<Outcome> CsrController::reconcile(const std::string& key, std::stop_token stop) {
  const auto cached = csrs_->get(key);
  if (!cached) return Outcome{};
  const Json seen = cached->decode();
  if (csr_decided(seen)) return Outcome{};
  const auto identity = csr_identity(seen);
  if (!identity) {
    tell_refused(seen, identity.error().message);
    return Outcome{};
  }
  const CsrPath path = csr_path(seen, *identity, auto_approve_users_);
  if (path == CsrPath::kPerson) {
    log::info(1, kCsrName,
              key + ": cluster " + identity->cluster + " waits for a person (fleetadm accept " + identity->cluster + ")");
    return Outcome{};
  }
  const kube::Client client = tools_.client.with_stop(stop);
  if (path == CsrPath::kRenewal) {
    FLEETADM_TRY(const Json review, client.post(res::subject_access_reviews().path({}), renewal_review(seen), true));
    if (!flag(review, {"status", "allowed"})) {
      tell_refused(seen, "its requester may not renew certificates of clusters");
      return Outcome{};
    }
  }
  // The cache may be behind: what is approved is the object that the server has now, by the same rules, once.
  FLEETADM_TRY(auto live, client.find(res::certificate_signing_requests(), {}, key));
  if (!live || uid_of(*live) != cached->uid() || csr_decided(*live)) return Outcome{};
  const auto confirmed = csr_identity(*live);
  if (!confirmed || *confirmed != *identity || csr_path(*live, *confirmed, auto_approve_users_) != path) return Outcome{};
  add_approval(*live, tools_.clock->now());
  kube::WriteOptions options;
  options.subresource = "approval";
  FLEETADM_TRY([[maybe_unused]] const Json stored, client.update(res::certificate_signing_requests(), *live, options));
  log::info(
      1, kCsrName,
      key + ": approved for " + identity->common_name + (path == CsrPath::kRenewal ? " (renewal)" : " (trusted requester)"));
  return Outcome{};
}

void CsrController::tell_refused(const Json& csr, const std::string& why) const {
  log::warn(kCsrName, name_of(csr) + " by " + str(csr, {"spec", "username"}) + " is left unapproved: " + why);
  if (recorder_) {
    recorder_->event(csr, "default", "Warning", "CertificateRequestNotApproved", "Approve",
                     "Left unapproved: " + why.substr(0, 900));
  }
}

}  // namespace fleetadm::registration::hub
