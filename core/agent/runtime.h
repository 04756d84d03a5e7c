// What the phases of the agent share.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "core/agent/agent.h"
#include "core/agent/certificates.h"
#include "core/agent/hub_choice.h"
#include "core/agent/signals.h"
#include "core/controller/controller.h"
#include "core/controller/worker_pool.h"
#include "core/registration/agent/driver.h"

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

/// How tunnels to the hub are, for /debug/agent. Thread-safe.
class TunnelsView {
 public:
  /// What tells; empty: nothing does. Returns when a call of the last one has.
  void show(std::function<Json()> describe);
  Json describe() const;  // null where nothing tells

 private:
  mutable std::mutex mutex_;
  std::function<Json()> describe_;
};

struct Runtime {
  AgentOptions options;
  AgentParts parts;
  kube::Client home;  // with its secrets
  kube::Client spoke;
  kube::RestConfig spoke_config;
  kube::Client work_spoke;  // as whom works are applied
  std::string spoke_ca;
  registration::agent::HubSecretStore store;
  std::shared_ptr<const registration::agent::RegistrationDriver> driver;
  HubChoice hubs;
  Signal bootstrap_changed;               // a bootstrap secret
  Signal credential_changed;              // the hub kubeconfig secret
  std::function<bool()> credential_told;  // whether that fires now where the secret changes
  Phase phase;
  Certificates certificates;
  TunnelsView gateway;
  TunnelsView cluster_proxy;
  std::shared_ptr<controller::WorkerPool> pool;  // of each session's managers
  controller::Manager& health;  // serves health alone; each session has managers of its own and shows their counts here

  Instant now() const { return parts.clock->now(); }
};

}  // namespace fleetadm::agent
