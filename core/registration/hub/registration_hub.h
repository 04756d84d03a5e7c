// The hub's side of registration: every controller of this folder, wired into one Manager.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "core/controller/controller.h"
#include "core/registration/hub/awsirsa_driver.h"
#include "kubeclient/events/recorder.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::registration::hub {

struct RegistrationOptions {
  std::string hub_namespace;                  // must not become a cluster's namespace
  bool csr = true;                            // agents may ask for certificates
  bool dials_members = false;                 // and tells with its first report of one that it is accepted
  std::optional<AwsIrsaOptions> awsirsa;      // clusters of EKS may come with their own identity
  std::set<std::string> auto_approve_users;   // whose requests and clusters are accepted without a person; empty: nobody's
  std::map<std::string, std::string> labels;  // for the objects that these controllers create
  std::shared_ptr<Clock> clock = Clock::system();
  std::shared_ptr<kube::Recorder> recorder;  // null: no events
};

/// Before Manager::run(). kUsage: options that cannot be meant. Informers for ManagedCluster, ManagedClusterSet and
/// ManagedClusterSetBinding are the manager's shared, unfiltered ones; those for leases, CSRs, namespaces and RBAC are filtered
/// by label or name.
Status add_registration_controllers(controller::Manager& manager, const kube::Client& client, const RegistrationOptions& options);

}  // namespace fleetadm::registration::hub
