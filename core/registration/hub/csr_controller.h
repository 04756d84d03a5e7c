// Approves renewals of agents, and first requests of requesters that the hub was told to trust.
#pragma once

#include <memory>
#include <set>
#include <stop_token>
#include <string>

#include "core/controller/controller.h"
#include "core/registration/hub/objects.h"
#include "kubeclient/events/recorder.h"

namespace fleetadm::registration::hub {

class CsrController {
 public:
  /// The cache holds CSRs with a cluster label and no add-on label. `recorder` may be null.
  CsrController(Tools tools, std::shared_ptr<kube::Informer> csrs, std::shared_ptr<kube::Recorder> recorder,
                std::set<std::string> auto_approve_users)
      : tools_(std::move(tools)),
        csrs_(std::move(csrs)),
        recorder_(std::move(recorder)),
        auto_approve_users_(std::move(auto_approve_users)) {}

  /// `key` is the CSR's name.
  Result<controller::Outcome> reconcile(const std::string& key, std::stop_token stop);

 private:
  void tell_refused(const Json& csr, const std::string& why) const;

  Tools tools_;
  std::shared_ptr<kube::Informer> csrs_;
  std::shared_ptr<kube::Recorder> recorder_;
  std::set<std::string> auto_approve_users_;
};

}  // namespace fleetadm::registration::hub
