// What kube-controller-manager does beside an API server, for one sandbox cluster: service accounts and root CAs, the end of
// namespaces and of custom resource definitions, garbage collection, certificate signing, aggregated roles, and the chains from
// Deployments, ReplicaSets, CronJobs and Jobs to pods.
//
// Every write leaves keys in a queue; one task at a time works the queue off, on the runtime's workers. No thread of its own.
// What is due at a time of the cluster's clock (deadlines, schedules) waits aside until then.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/sandbox/api/api_server.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::sandbox {

/// Calls a task, which does not block, after about that time, on any thread; a task may still come after its manager has gone.
using RunAfter = std::function<void(Duration, std::function<void()>)>;

class ControllerManager {
 public:
  /// `run` puts a task on a worker. Without `later` nothing happens by time alone. The server must outlive the manager.
  ControllerManager(ApiServer& server, pki::KeyPair ca, std::function<bool(std::function<void()>)> run, RunAfter later = {});
  /// Stops listening and waits for the task that runs.
  ~ControllerManager();
  ControllerManager(const ControllerManager&) = delete;
  ControllerManager& operator=(const ControllerManager&) = delete;

  /// Looks at everything once: what a restart missed.
  void start();
  /// Nothing is queued and nothing runs.
  bool idle() const;

 private:
  struct Inner;
  std::shared_ptr<Inner> inner_;
};

}  // namespace fleetadm::sandbox
