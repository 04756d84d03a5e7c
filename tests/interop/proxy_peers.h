// Upstream's cluster-proxy on a hub: its manager, its controllers, konnectivity's proxy-server and its user server, as processes
// that a hub's Deployments would run.
#pragma once

#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "tests/interop/peers.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {

inline constexpr const char* kProxyAddon = "cluster-proxy";
inline constexpr const char* kProxyNamespace = "open-cluster-management-addon";

class ProxyPeers {
 public:
  /// In the namespace kProxyNamespace of the hub. `address`: where agents reach the proxy-server.
  ProxyPeers(const TemporaryFolder& folder, const KubeServer& hub, std::string address = "127.0.0.1")
      : folder_(folder), hub_(hub), address_(std::move(address)), peers_(folder) {}

  /// The kind, the configuration and the add-on's declaration; manager and controllers. The add-on goes into `install_namespace`
  /// of the clusters; its Deployment has no pods.
  Status start_manager(const std::string& install_namespace);
  /// Servers, with what the manager has made for them.
  Status start_servers(const std::string& install_namespace);
  Status start_user_server(const std::string& install_namespace);
  /// An agent of konnectivity's, with the certificate of a cluster; it dials whatever it is told to.
  Status start_agent(const std::string& identifiers, const pki::KeyPair& certificate);
  void stop_agent() { peers_.stop("upstream-proxy-agent"); }

  /// Of the user server, and the PEM that vouches for it, as whom.
  std::string user_server() const { return "https://127.0.0.1:" + std::to_string(user_port_); }
  std::string user_server_name() const { return std::string("cluster-proxy-addon-user.") + kProxyNamespace + ".svc"; }
  std::string ca() const { return secret("proxy-server-ca", "ca.crt"); }
  int front_port() const { return front_port_; }
  int agent_port() const { return agent_port_; }
  std::string secret(const std::string& name, const char* key) const;
  std::string log(const std::string& component) const { return peers_.log(component); }
  /// Of the proxy-server and the user server.
  std::vector<pid_t> servers() const {
    return {peers_.pid("upstream-proxy-server").value_or(0), peers_.pid("upstream-user-server").value_or(0)};
  }

 private:
  std::string file(const std::string& secret_name, const char* key) const;

  const TemporaryFolder& folder_;
  const KubeServer& hub_;
  const std::string address_;
  Peers peers_;
  const int agent_port_ = free_port();
  const int front_port_ = free_port();
  const int user_port_ = free_port();
};

}  // namespace fleetadm::testkit
