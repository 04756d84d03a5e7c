// How an agent becomes somebody on its hub (docs/reference/registration.md#other-ways-to-register). A further way is a class of
// its own.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/registration/agent/issuance.h"
#include "kubeclient/config/rest_config.h"

namespace fleetadm::registration::agent {

/// Thread-safe.
class RegistrationDriver {
 public:
  virtual ~RegistrationDriver() = default;
  /// What the ManagedCluster says of it.
  virtual std::map<std::string, std::string> annotations() const = 0;
  /// The kubeconfig that is stored for a hub.
  virtual std::string kubeconfig(const Endpoint& hub) const = 0;
  /// Why what is stored cannot be used; empty: it can. `bootstrap`: the hub that it has to be for, where that is known.
  virtual std::string why_unusable(const HubSecret& stored, const Identity& identity, const std::optional<Endpoint>& bootstrap,
                                   Instant now) const = 0;
  /// Goes as far as it can towards a stored credential without waiting. `hub`: as the bootstrap identity. Without a request name
  /// in its answer there is nothing to watch.
  virtual Result<Issuance> advance(const kube::Client& hub, const HubSecretStore& store, const Identity& identity,
                                   const Endpoint& endpoint, const Clock& clock) const = 0;
  /// Whether the credential is a client certificate, which has to be renewed.
  virtual bool has_certificate() const = 0;
  /// Of an agent without a certificate: what requests to the hub are made with.
  virtual Result<std::shared_ptr<kube::CredentialSource>> credentials() const = 0;
};

/// A client certificate of the hub, by a certificate request.
std::shared_ptr<const RegistrationDriver> csr_driver(RequestOptions options);

}  // namespace fleetadm::registration::agent
