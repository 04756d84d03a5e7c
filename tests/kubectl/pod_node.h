// The process node of a test's server in this process, which tells of its containers: what `fleetadm sandbox up` does for its own
// servers.
#pragma once

#include <memory>
#include <thread>

#include "core/sandbox/node/containers.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::kubectl {

class PodNode {
 public:
  /// Answers when the Node "node" is Ready in the API (60 s).
  static Result<std::unique_ptr<PodNode>> start(const testkit::KubeServer& server,
                                                std::shared_ptr<sandbox::ContainerTable> containers);

 private:
  std::jthread serves_;  // asked to stop, and waited for, by its destructor
};

}  // namespace fleetadm::kubectl
