// Clusters whose agents have a client certificate of the hub: what they need beside RBAC is the approval of their requests, which
// CsrController sees to.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "core/registration/hub/driver.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::registration::hub {

/// Whether `csr` is a request for `cluster` by one of the users that the hub would approve, or has approved: refused and failed
/// ones are none.
bool is_trusted_request(const Json& csr, const std::string& cluster, const std::set<std::string>& users);

class CsrDriver final : public RegistrationDriver {
 public:
  CsrDriver(std::shared_ptr<kube::Informer> csrs, std::set<std::string> users)
      : csrs_(std::move(csrs)), users_(std::move(users)) {}

  /// Every cluster: a driver that knows its own by something comes before this one.
  bool handles(const Json& /*cluster*/) const override { return true; }
  /// Where one of the users has sent its request.
  bool trusts(const Json& cluster) const override;
  Status grant(const Json& /*cluster*/, const std::stop_token& /*stop*/) override { return {}; }
  Status withdraw(const Json& /*cluster*/, const std::stop_token& /*stop*/) override { return {}; }

 private:
  std::shared_ptr<kube::Informer> csrs_;
  std::set<std::string> users_;
};

}  // namespace fleetadm::registration::hub
