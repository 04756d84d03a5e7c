// The gateway in the place of the add-on cluster-proxy's proxy server: takes the tunnels of upstream's agents, and brings the
// connections of konnectivity's clients, as its user server is one, to them
// (docs/reference/cluster-proxy.md#our-gateway-in-the-place-of-the-proxy-server).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "core/api/proxy_server_secrets.h"
#include "core/controller/controller.h"
#include "core/gateway/issued_certificates.h"
#include "core/proxy/konnectivity/agent_port.h"
#include "core/serve/http/server.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::gateway {

struct KonnectivityOptions {
  std::string ns;             // of what it remembers
  std::string address;        // to listen on for clients
  std::string agent_address;  // and for agents
  std::function<bool(std::string_view cluster)> accepts;
  std::function<void()> changed;  // there may be something to remember; any thread
  std::shared_ptr<Clock> clock;
};

/// Made before the manager starts. One thread at a time, but for lose() and describe().
class Konnectivity {
 public:
  Konnectivity(controller::Manager& manager, serve::HttpRuntime& runtime, const kube::Client& hub, KonnectivityOptions options);
  /// Cuts what is left.
  ~Konnectivity();
  Konnectivity(const Konnectivity&) = delete;
  Konnectivity& operator=(const Konnectivity&) = delete;

  /// Opens its ports with what the hub has for them, or takes up what is new of that, signs what agents have requested, and
  /// writes down which certificates were issued. What goes wrong is logged, and tried again with the next. `replicas`: how many
  /// of the gateway do the same, this one among them; agents look for as many.
  void pass(std::size_t replicas);
  /// Ends the tunnels of a cluster.
  void lose(const std::string& cluster);
  /// Takes no more connections of clients.
  void drain();
  /// Connections of clients that are open. Any thread, once there are ports.
  std::size_t running() const { return clients_ ? clients_->connections() : 0; }
  Json describe() const;

 private:
  /// What the hub has for it.
  struct Material {
    std::string ca;
    pki::KeyPair front;
    pki::KeyPair agents;
    std::string client_sha256;  // of the one certificate that clients have
    api::ProxyServerSecrets secrets;
  };

  Result<Material> read() const;
  Status keep();
  Status remember();
  Status sign(const api::ProxyServerSecrets& secrets);
  Result<std::unique_ptr<serve::HttpListener>> listen(const std::string& address, const pki::KeyPair& certificate,
                                                      const std::string& ca, serve::HttpHandler handler);
  void serve_client(serve::HttpRequest request, const serve::Reply& reply);
  void dial(const std::string& target, konnectivity::AgentPort::Done done);

  serve::HttpRuntime& runtime_;
  const kube::Client hub_;
  const KonnectivityOptions options_;
  IssuedCertificates issued_;
  std::map<std::string, std::string> remembered_;  // as the hub has it
  std::map<std::string, std::string> unsigned_;    // requests, and why
  bool loaded_ = false;
  std::shared_ptr<kube::Informer> requests_;
  std::shared_ptr<konnectivity::AgentPort> port_;
  std::unique_ptr<serve::HttpListener> clients_;
  std::unique_ptr<serve::HttpListener> agents_;
  std::string serving_;  // what they serve with
  mutable std::mutex mutex_;
  std::string client_sha256_;
  std::string problem_;
};

}  // namespace fleetadm::gateway
