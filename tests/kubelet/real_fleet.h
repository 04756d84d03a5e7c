// A hub and spokes on real nodes, each a cluster in a network of its own. The spokes reach the hub's API server; theirs serve the
// Service address of their own cluster alone, so nothing outside of it reaches them. The first spoke has IPv4 alone, the others
// IPv6 and IPv4.
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/kubelet/container_node.h"
#include "tests/support/fleet.h"

namespace fleetadm::testkit {

class RealFleet {
 public:
  /// Contexts are "hub", "c1", …; their nodes have the image of fleetadm, which the binary has made, and that of workloads.
  static Result<std::unique_ptr<RealFleet>> start(int spokes);
  ~RealFleet();

  int spokes() const { return static_cast<int>(clusters_.size()) - 1; }
  KubeServer& hub() { return server(0); }
  KubeServer& server(int i) { return *clusters_.at(static_cast<std::size_t>(i)).server; }  // 0: the hub
  ContainerNode& node(int i) { return *clusters_.at(static_cast<std::size_t>(i)).node; }

  /// Runs fleetadm in the network of a cluster, with that context, and the hub's, in $KUBECONFIG.
  Ran run(int i, const std::vector<std::string>& args, const RunOptions& options = {}) const;
  const TemporaryFolder& folder() const { return folder_; }

 private:
  struct Cluster {
    std::string name;
    std::string address;  // of its node
    std::string pods;
    bool dual_stack = false;
    std::shared_ptr<NetworkNamespace> network;
    std::unique_ptr<ContainerNode> node;
    std::unique_ptr<KubeServer> server;
  };
  RealFleet() = default;
  Status make_clusters(int spokes);
  Status lead_to_hub(int i) const;
  Status ip(const NetworkNamespace& network, const std::vector<std::string>& words) const;
  Status start_servers();
  struct Archives {
    std::string workload;
    std::string program;
    std::string former;  // a program of another version
  };
  Status start_node(int i, const Archives& archives);
  Result<Archives> save_images() const;

  TemporaryFolder folder_{"real-fleet"};
  std::vector<Cluster> clusters_;
};

/// The Pods of a namespace with the label app=NAME that are not being deleted.
std::vector<Json> pods_of(const KubeServer& server, const std::string& ns, const std::string& app);
/// True where it is Ready.
bool pod_is_ready(const Json& pod);

}  // namespace fleetadm::testkit
