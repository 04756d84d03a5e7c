#include "core/msa/agent/health_lease.h"

#include "core/api/managed_service_account.h"

namespace fleetadm::msa {
namespace {

constexpr std::chrono::seconds kRenewal = std::chrono::minutes(1);

Result<controller::Outcome> renew(const kube::Client& spoke, const std::string& ns, const std::string& name, Instant now) {
  const auto& type = kube::resources::leases();
  FLEETADM_TRY(const auto existing, spoke.find(type, ns, name));
  Json lease = existing.value_or(
      Json{{"apiVersion", type.api_version()}, {"kind", type.kind}, {"metadata", {{"name", name}, {"namespace", ns}}}});
  at_or_make(lease, {"spec"})["leaseDurationSeconds"] = kRenewal.count();
  lease["spec"]["renewTime"] = format_micro_time(now);
  FLEETADM_CHECK(existing ? spoke.update(type, lease) : spoke.create(type, ns, lease));
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
