// Clusters that their registration driver trusts, as those of users whose registration is approved without a person
// (`hub run --auto-approve-user`), are accepted once. Whoever
// denies such a cluster later, or one that a person had accepted, is not overruled: the annotation that tells when it was
// accepted and the condition of the acceptance stay (upstream's gate ManagedClusterAutoApproval; that one accepts every cluster,
// whoever registered it, and one that was denied before).
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "core/controller/controller.h"
#include "core/registration/hub/driver.h"
#include "core/registration/hub/objects.h"

namespace fleetadm::registration::hub {

inline constexpr std::string_view kAutoAcceptedAnnotation = "open-cluster-management.io/automatically-accepted-on";

class AutoAcceptController {
 public:
  AutoAcceptController(Tools tools, std::shared_ptr<kube::Informer> clusters, RegistrationDrivers drivers,
                       std::string hub_namespace)
      : tools_(std::move(tools)),
        clusters_(std::move(clusters)),
        drivers_(std::move(drivers)),
        hub_namespace_(std::move(hub_namespace)) {}

  /// `key` is the cluster's name.
  Result<controller::Outcome> reconcile(const std::string& key, std::stop_token stop);

 private:
  Tools tools_;
  std::shared_ptr<kube::Informer> clusters_;
  RegistrationDrivers drivers_;
  std::string hub_namespace_;
};

}  // namespace fleetadm::registration::hub
