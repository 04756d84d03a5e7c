// Containers of fleetadm's image that need no process: what they would run works in this one.
#pragma once

#include <functional>
#include <memory>

#include "core/sandbox/node/child.h"
#include "kubeclient/base/result.h"

namespace fleetadm::sandbox {

/// The destructor waits until it has stopped.
class HostedProgram {
 public:
  virtual ~HostedProgram() = default;
  HostedProgram() = default;
  HostedProgram(const HostedProgram&) = delete;
  HostedProgram& operator=(const HostedProgram&) = delete;
  /// As SIGTERM to a process. Does not wait.
  virtual void terminate() = 0;
};

/// Starts what a container would run as a process. Null: it has to be a process. Called on a thread of the node.
using Host = std::function<Result<std::unique_ptr<HostedProgram>>(const ChildSpec& spec)>;

}  // namespace fleetadm::sandbox
