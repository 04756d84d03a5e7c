// The members that the hub dials itself: for each ManagedCluster of mode push, whose kubeconfig is in a Secret of the hub, the
// hub is what an agent is on another cluster: it probes, reports, renews the lease, applies works and renews the token.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/controller/controller.h"
#include "core/push/health.h"
#include "core/push/replicas.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::push {

struct PushOptions {
  std::string ns;                                                // of the Secrets; empty: api::kPushNamespace
  std::string hub_ns;                                            // of the hub itself
  std::string hub_id;                                            // the uid of the hub's namespace kube-system
  Duration period = std::chrono::seconds(10);                    // between two probes of a member that is well
  Holds holds;                                                   // where the cluster says nothing else
  Duration give_up_after = Duration::zero();                     // what cannot be connected; zero: never
  std::size_t threads = 32;                                      // of all members: those that hang have some of them
  std::function<kube::Client(const kube::RestConfig&)> connect;  // to members
  std::shared_ptr<Replicas> replicas;                            // with whom they are shared; null: all are this process's
  std::shared_ptr<Clock> clock = Clock::system();
};

/// Adds the controllers to `manager`. They end with it, and then `replicas` is to leave.
void add_push_members(controller::Manager& manager, const kube::Client& hub, const PushOptions& options);

}  // namespace fleetadm::push
