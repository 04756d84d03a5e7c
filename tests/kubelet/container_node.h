// One node of a real cluster: containerd, runc and the kubelet, with the scheduler beside them, in a network that others may lead
// to and in namespaces of mounts and processes of its own. However this process ends, the kernel ends these namespaces, and with
// them every process and mount of the node; nothing of the machine's own folders is written.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/sandbox/node/child.h"
#include "tests/kubelet/cgroups.h"
#include "tests/support/kube_servers.h"
#include "tests/support/network_namespace.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::testkit {

struct NodeOptions {
  std::string name;                           // of the Node, too
  std::shared_ptr<NetworkNamespace> network;  // of the cluster; the node's address is one of it
  std::string address;
  std::string pods;             // "10.244.1.0/24", which the address is in
  std::string service_address;  // of the API server, in the cluster
  // Of IPv6, which comes first then; empty: the cluster has IPv4 alone.
  std::string address6 = {};
  std::string pods6 = {};
};

class ContainerNode {
 public:
  /// What the machine must have: kUnavailable with one line that says what is missing.
  static const Status& needs();

  /// The namespaces and the files: nothing runs yet.
  static Result<std::unique_ptr<ContainerNode>> make(NodeOptions options);
  ~ContainerNode();
  ContainerNode(const ContainerNode&) = delete;
  ContainerNode& operator=(const ContainerNode&) = delete;

  /// What the cluster's API server needs to ask this kubelet for logs and commands.
  std::vector<std::string> apiserver_flags() const;

  Status start_containerd();
  /// As a crash does; what runs in containers goes on.
  void kill_containerd();
  Status import_image(const std::string& archive) const;
  std::string containerd_socket() const { return (folder() / "containerd.sock").string(); }
  /// With containerd's own programs in it.
  static std::string path_variable();

  /// The kubelet and the scheduler, of that server's cluster. It is Ready when this returns.
  Status start_kubelet(const KubeServer& server);

  /// Runs a command of the machine inside, and answers what it printed; kUnavailable where it fails. From one thread at a time.
  Result<std::string> run(const std::vector<std::string>& words) const;
  const std::string& name() const { return options_.name; }
  std::filesystem::path folder() const { return folder_.path(); }
  /// The end of the kubelet's log, for failure messages.
  std::string kubelet_log() const;

 private:
  explicit ContainerNode(NodeOptions options);
  static Status look_for_needs();
  Status make_namespaces();
  Status write_files();
  Status write_kubelet_config(const KubeServer& server);
  Result<sandbox::Child> start(std::vector<std::string> words, const std::string& log) const;
  std::vector<std::string> inside(std::vector<std::string> words) const;

  NodeOptions options_;
  TemporaryFolder folder_;
  std::optional<NodeCgroup> cgroup_;
  pki::KeyPair kubelet_clients_;
  std::optional<sandbox::Child> init_;  // holds the namespaces
  int init_pid_ = 0;                    // of the first process inside
  mutable int commands_ = 0;            // that were run
  std::optional<sandbox::Child> containerd_;
  std::optional<sandbox::Child> scheduler_;
  std::optional<sandbox::Child> kubelet_;
};

}  // namespace fleetadm::testkit
