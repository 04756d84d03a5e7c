// Upstream Open Cluster Management's own programs as processes, from the folder $FLEETADM_PEERS (registration, placement, work,
// addon, clusteradm). How they are started is a fact about them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/sandbox/node/child.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {

/// The folder with the programs; nullopt where it is not given or incomplete.
std::optional<std::string> peers_folder();

/// One upstream program against a server. Each gets a client certificate of its own, so that audit logs tell them apart.
class Peers {
 public:
  explicit Peers(const TemporaryFolder& folder) : folder_(folder) {}
  /// Hub controllers: registration, placement, work.
  Status start_hub(const KubeServer& hub);
  void stop_hub();
  /// The registration agent of a spoke, with a bootstrap kubeconfig (text).
  Status start_registration_agent(const KubeServer& spoke, const std::string& cluster, const std::string& bootstrap);
  /// The work agent; the registration agent must have its hub kubeconfig by now.
  /// It looks at the status of what it applied every `status_sync` (upstream's default: 10s).
  Status start_work_agent(const KubeServer& spoke, const std::string& cluster, const std::string& status_sync = "10s");
  bool has_hub_kubeconfig(const std::string& cluster) const;
  /// The end of a component's log.
  std::string log(const std::string& component) const;

 private:
  Status start(const std::string& component, const std::string& program, std::vector<std::string> args, const std::string& ns);
  std::string config_file(const std::string& component) const;
  std::string hub_kubeconfig_folder(const std::string& cluster) const;

  const TemporaryFolder& folder_;
  std::map<std::string, sandbox::Child> running_;
};

}  // namespace fleetadm::testkit
