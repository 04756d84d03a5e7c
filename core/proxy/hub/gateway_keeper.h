// What one replica of the gateway keeps on the hub: the CA of all replicas in a Secret, a serving certificate of its own, and the
// ConfigMap that tells agents and clients where it is and whom to trust. Replicas need no leader: each write names the version
// that it changes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/kinds.h"
#include "core/proxy/hub/gateway_replicas.h"
#include "kubeclient/pki/authority.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::proxy {

inline constexpr Duration kGatewayCaLife = std::chrono::hours(24 * 3650);
inline constexpr Duration kGatewayServingLife = std::chrono::hours(24 * 90);

struct GatewayKeeperOptions {
  std::string ns = std::string(api::kHubNamespace);
  /// DNS names and IP addresses at which it is called, beside the names of its Service and of this host.
  std::vector<std::string> hosts;
  std::shared_ptr<Clock> clock = Clock::system();
};

/// One thread at a time.
class GatewayKeeper {
 public:
  GatewayKeeper(kube::Client hub, GatewayKeeperOptions options);

  /// Reads the CA or makes it, and issues the serving certificate: the first, and a new one when a third of its life is left or
  /// the CA is another. A new CA is published before a certificate of it is served. True where serving() is new. A Secret of that
  /// name that init did not install is used where it holds a CA, and never written (kConflict).
  Result<bool> renew();
  const pki::KeyPair& serving() const { return serving_; }
  /// What this replica shows others, and they it; as old as serving().
  const pki::KeyPair& peer() const { return peer_; }
  /// PEM; vouches for the certificates of all replicas.
  const std::string& trusted() const { return trusted_; }

  /// Writes where this replica is reached, and what is wrong with the list of exposed services (nothing: empty), if that is not
  /// there yet. A ConfigMap of that name that is not ours is left alone (kConflict). After renew().
  Status publish(const GatewayReplica& own, std::string_view exposed_problem = {});
  /// Where the other replicas take requests, as publish() found it.
  const std::vector<std::string>& peers() const { return peers_; }
  /// How many replicas serve the add-on cluster-proxy, this one among them, as publish() found it.
  std::size_t konnectivity_replicas() const { return konnectivity_replicas_; }
  /// Takes it away again while other replicas are left.
  Status withdraw(const GatewayReplica& own) const;

 private:
  Result<pki::Authority> authority() const;
  Result<pki::KeyPair> issue(const pki::Authority& authority) const;
  Result<pki::KeyPair> issue_peer(const pki::Authority& authority) const;

  kube::Client hub_;
  GatewayKeeperOptions options_;
  pki::KeyPair serving_;
  pki::KeyPair peer_;
  std::vector<std::string> peers_;
  std::size_t konnectivity_replicas_ = 0;
  std::string serving_ca_;  // the CA that issued it
  std::string trusted_;
  std::string published_;  // the CAs that the ConfigMap names
};

}  // namespace fleetadm::proxy
