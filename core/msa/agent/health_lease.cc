#include "core/msa/agent/health_lease.h"

#include "core/api/managed_service_account.h"
#include "kubeclient/lease/heartbeat.h"

namespace fleetadm::msa {
namespace {

constexpr std::chrono::seconds kRenewal = std::chrono::minutes(1);

Result<controller::Outcome> renew(const kube::Client& spoke, const std::string& ns, const std::string& name, Instant now) {
  FLEETADM_CHECK(kube::renew_heartbeat(spoke, ns, name, kRenewal, now));
  return controller::Outcome{kRenewal};
}

}  // namespace

void add_health_lease(controller::Manager& manager, const kube::Client& spoke, const std::string& ns,
                      const std::shared_ptr<Clock>& clock) {
  controller::ControllerOptions row;
  row.name = "lease";
  const auto queue = manager.add(
      row, [spoke, ns, clock](const std::string& name, const std::stop_token&) { return renew(spoke, ns, name, clock->now()); });
  queue->add(std::string(api::kManagedServiceAccountAddon));
}

}  // namespace fleetadm::msa
