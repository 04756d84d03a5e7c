// The cgroup of one node, in every hierarchy of the machine (cgroup v1 has several, v2 one), and the processes of its pods.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/result.h"

namespace fleetadm::testkit {

class NodeCgroup {
 public:
  /// "fleetadm-node-<pid>-<name>". Before that, removes those that runs left behind which did not live to do so themselves.
  static Result<NodeCgroup> make(std::string_view name);
  ~NodeCgroup();
  NodeCgroup(NodeCgroup&& other) noexcept;
  NodeCgroup& operator=(NodeCgroup&&) = delete;

  const std::string& name() const { return name_; }

 private:
  explicit NodeCgroup(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

struct ContainerProcess {
  int pid = 0;
  std::string program;         // argv[0]
  std::int64_t resident = 0;   // bytes, with the pages of files that it shares with others
  std::int64_t anonymous = 0;  // bytes of its own
  std::string memory_cgroup;   // its folder
};

/// The processes of a pod's containers, without that of its sandbox.
std::vector<ContainerProcess> processes_of_pod(std::string_view uid);

/// Lets the kernel kill the cgroup's processes as soon as they need more memory than they have now.
Status forbid_more_memory(const std::string& memory_cgroup);

}  // namespace fleetadm::testkit
