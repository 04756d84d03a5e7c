// What the phases of the agent share.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "core/agent/agent.h"
#include "core/agent/bootstrap_source.h"
#include "core/agent/signals.h"
#include "core/controller/controller.h"
#include "core/controller/worker_pool.h"
#include "core/registration/agent/hub_secret.h"

namespace fleetadm::agent {

/// What the agent does now, for /debug/agent and the log. Thread-safe.
class Phase {
 public:
  /// Logged when it differs from what was set last.
  void set(std::string phase, std::string detail);
  Json describe() const;

 private:
  mutable std::mutex mutex_;
  std::string phase_ = "starting";
  std::string detail_;
};

struct Runtime {
  AgentOptions options;
  AgentParts parts;
  kube::Client spoke;
  kube::Client work_spoke;  // as whom works are applied
  std::string spoke_ca;
  registration::agent::HubSecretStore store;
  BootstrapSource bootstrap;
  Signal bootstrap_changed;   // the bootstrap secret
  Signal credential_changed;  // the hub kubeconfig secret
  Phase phase;
  std::shared_ptr<controller::WorkerPool> pool;  // of each session's managers
  controller::Manager& health;  // serves health alone; each session has managers of its own and shows their counts here

  Instant now() const { return parts.clock->now(); }
};

}  // namespace fleetadm::agent
