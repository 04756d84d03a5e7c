#include "kubeclient/lease/heartbeat.h"

namespace fleetadm::kube {

Status renew_heartbeat(const Client& client, const std::string& ns, const std::string& name, std::chrono::seconds duration,
                       Instant now) {
  const auto& type = resources::leases();
  FLEETADM_TRY(const auto existing, client.find(type, ns, name));
  Json lease = existing.value_or(
      Json{{"apiVersion", type.api_version()}, {"kind", type.kind}, {"metadata", {{"name", name}, {"namespace", ns}}}});
  at_or_make(lease, {"spec"})["leaseDurationSeconds"] = duration.count();
  lease["spec"]["renewTime"] = format_micro_time(now);
  return (existing ? client.update(type, lease) : client.create(type, ns, lease)).map([](const Json&) {});
}

}  // namespace fleetadm::kube
