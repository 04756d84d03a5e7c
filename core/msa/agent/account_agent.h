// The agent of the add-on managed-serviceaccount: for each ManagedServiceAccount of its cluster a ServiceAccount there, and a
// Secret on the hub with a token of it that is kept fresh (docs/reference/managed-serviceaccount.md#the-agent).
#pragma once

#include <memory>
#include <string>

#include "core/controller/controller.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::msa {

struct AccountAgentOptions {
  std::string cluster;    // its namespace on the hub
  std::string ns;         // of the ServiceAccounts, on the managed cluster
  std::string authority;  // PEM: by what clients of the managed cluster know its API server
  /// The ServiceAccount that owns the others, in the same namespace: they go with it, and so with the add-on. Empty: none.
  std::string owner;
  /// Secrets are read by name alone, so none of them can be watched: so often one of them is read again, each in its turn.
  Duration look = std::chrono::minutes(10);
  Duration tick = std::chrono::minutes(1);  // how often the clock is read, which may have been set
  std::shared_ptr<Clock> clock = Clock::system();
};

/// Adds the controller "accounts".
void add_account_agent(controller::Manager& manager, const kube::Client& hub, const kube::Client& spoke,
                       const AccountAgentOptions& options);

}  // namespace fleetadm::msa
