// Runs groups of steps on two servers side by side: one of the sandbox, one kube-apiserver with kube-controller-manager. Each has
// a process node.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/kubectl/kubelet.h"
#include "tests/kubectl/pod_node.h"
#include "tests/kubectl/script.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::kubectl {

struct StepOutcome {
  int exit_code = -1;
  std::string out;
  std::string err;
  bool timed_out = false;
  bool shown = true;  // what UNTIL waits for
};

/// What a group's steps said on one server.
struct GroupOutcome {
  std::vector<StepOutcome> steps;
  std::string folder;   // where they ran
  std::string trouble;  // why there are no steps
  std::chrono::milliseconds took{0};
};

class ServerPair {
 public:
  static Result<std::unique_ptr<ServerPair>> start();

  struct Outcome {
    GroupOutcome sandbox;
    GroupOutcome real;
  };
  /// With the kubectl of a folder, in a namespace of the group's name. Several groups may run at the same time.
  Outcome run(const Group& group, const std::string& kubectl_folder) const;

 private:
  std::vector<std::unique_ptr<testkit::KubeServer>> servers_;  // the sandbox's first
  std::unique_ptr<Kubelet> kubelet_;                           // of the real server's node
  std::vector<std::unique_ptr<PodNode>> nodes_;
};

/// All groups on a new pair: those that want it alone, the others several at a time.
struct Run {
  std::map<std::string, ServerPair::Outcome> groups;
  std::string trouble;  // why there are none
};
Run run_groups(const std::vector<const Group*>& groups, const std::string& kubectl_folder);

}  // namespace fleetadm::kubectl
