// Upstream Open Cluster Management's own programs as processes, from the folder $FLEETADM_PEERS (registration, placement, work,
// addon, clusteradm; helloworld and helloworld_hosted of the add-on framework's examples; msa of managed-serviceaccount;
// proxy-server and proxy-agent of konnectivity, as cluster-proxy deploys them; cluster-proxy, its user server), and Karmada's
// (karmadactl, karmada-controller-manager, karmada-agent; the types of its chart in the folder karmada-crds). How they are
// started is a fact about them.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/sandbox/node/child.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {

/// The folder with the programs; nullopt where it is not given or incomplete. `more`: programs beside those that every suite
/// needs.
std::optional<std::string> peers_folder(std::initializer_list<const char*> more = {});

/// One upstream program against a server. Each gets a client certificate of its own, so that audit logs tell them apart.
class Peers {
 public:
  explicit Peers(const TemporaryFolder& folder) : folder_(folder) {}
  /// Hub controllers: registration, placement, work.
  Status start_hub(const KubeServer& hub);
  void stop_hub();
  /// The registration agent of a spoke, with a bootstrap kubeconfig (text). `addon_auth`: how add-ons authenticate, csr or token.
  Status start_registration_agent(const KubeServer& spoke, const std::string& cluster, const std::string& bootstrap,
                                  const std::string& addon_auth = "csr");
  /// `spoke`: a kubeconfig file.
  Status start_registration_agent(const std::string& spoke, const std::string& cluster, const std::string& bootstrap,
                                  const std::string& addon_auth = "csr");
  /// The work agent; the registration agent must have its hub kubeconfig by now.
  /// It looks at the status of what it applied every `status_sync` (upstream's default: 10s).
  Status start_work_agent(const KubeServer& spoke, const std::string& cluster, const std::string& status_sync = "10s");
  Status start_work_agent(const std::string& spoke, const std::string& cluster, const std::string& status_sync = "10s");
  bool has_hub_kubeconfig(const std::string& cluster) const;
  /// The add-on manager, and the webhook without which it reads nothing: the hub's definitions of add-ons name it from then on.
  Status start_addon_manager(const KubeServer& hub);
  void stop_addon_manager();
  /// A program of the add-on framework's examples, as administrator of `server`. Their port cannot be chosen: one at a time.
  Status start_example(const KubeServer& server, const std::string& program, std::vector<std::string> args);
  void stop_example() { running_.erase("example"); }
  /// The hub's manager of upstream's managed-serviceaccount, with its copies for ClusterProfiles.
  Status start_account_manager(const KubeServer& hub);
  /// Its agent. `hub_kubeconfig`: a file. Its port cannot be chosen: one at a time.
  Status start_account_agent(const KubeServer& spoke, const std::string& cluster, const std::string& hub_kubeconfig);
  void stop_accounts();
  /// Any program of the folder, in the place of a pod of this namespace.
  Status launch(const std::string& component, const std::string& program, std::vector<std::string> args, const std::string& ns,
                const std::vector<std::string>& variables = {});
  void stop(const std::string& component) { running_.erase(component); }
  std::optional<pid_t> pid(const std::string& component) const {
    const auto at = running_.find(component);
    return at == running_.end() ? std::nullopt : std::optional(at->second.pid());
  }
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
