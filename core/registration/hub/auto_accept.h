// Clusters of users whose registration is approved without a person (`hub run --auto-approve-user`) are accepted once. Whoever
// denies such a cluster later, or one that a person had accepted, is not overruled: the annotation that tells when it was
// accepted and the condition of the acceptance stay (upstream's gate ManagedClusterAutoApproval; that one accepts every cluster,
// whoever registered it, and one that was denied before).
#pragma once

#include <memory>
#include <set>
#include <stop_token>
#include <string>

#include "core/controller/controller.h"
#include "core/registration/hub/objects.h"

namespace fleetadm::registration::hub {

inline constexpr std::string_view kAutoAcceptedAnnotation = "open-cluster-management.io/automatically-accepted-on";

/// Whether `csr` is a request for `cluster` by one of the users that the hub would approve, or has approved: refused and failed
/// ones are none.
bool is_trusted_request(const Json& csr, const std::string& cluster, const std::set<std::string>& users);

class AutoAcceptController {
 public:
  AutoAcceptController(Tools tools, std::shared_ptr<kube::Informer> clusters, std::shared_ptr<kube::Informer> csrs,
                       std::set<std::string> users, std::string hub_namespace)
      : tools_(std::move(tools)),
        clusters_(std::move(clusters)),
        csrs_(std::move(csrs)),
        users_(std::move(users)),
        hub_namespace_(std::move(hub_namespace)) {}

  /// `key` is the cluster's name.
  Result<controller::Outcome> reconcile(const std::string& key, std::stop_token stop);

 private:
  Tools tools_;
  std::shared_ptr<kube::Informer> clusters_;
  std::shared_ptr<kube::Informer> csrs_;
  std::set<std::string> users_;
  std::string hub_namespace_;
};

}  // namespace fleetadm::registration::hub
