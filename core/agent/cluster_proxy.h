// The add-on cluster-proxy of a hub that upstream's manager of it runs on: this agent in the place of upstream's proxy-agent,
// add-on agent and service proxy (docs/reference/cluster-proxy.md).
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/account_token.h"
#include "core/controller/controller.h"
#include "core/proxy/addon/agent_server.h"
#include "core/proxy/client/pod_forward.h"
#include "core/registration/agent/hub_secret.h"

namespace fleetadm::agent {

struct ClusterProxyOptions {
  std::string cluster;
  registration::agent::Endpoint endpoint;      // of the hub
  std::function<std::optional<Json>()> addon;  // the ManagedClusterAddOn as cached; nothing where there is none
  kube::Client member;
  kube::RestConfig member_config;  // of the same
  std::function<kube::Client(const kube::RestConfig&)> connect;
  std::shared_ptr<Clock> clock = Clock::system();
};

/// Acts at the cluster as the add-on's own ServiceAccount, and at the hub as the add-on's agent, by the credential that is kept
/// for it (core/addon/agent/credentials.h).
class ClusterProxy {
 public:
  explicit ClusterProxy(ClusterProxyOptions options);
  /// Gives what runs a moment to end.
  ~ClusterProxy();
  ClusterProxy(const ClusterProxy&) = delete;
  ClusterProxy& operator=(const ClusterProxy&) = delete;

  /// Looks at what the hub has sent, brings the tunnels in step, and renews the add-on's lease while there is one. One at a time.
  Result<controller::Outcome> reconcile();
  /// For /debug/agent. Any thread.
  Json describe() const;

 private:
  struct Told;
  struct Credential;

  /// Nothing: the hub does not want the add-on here. An Error: it has not come as a whole yet.
  Result<std::optional<Told>> look();
  Result<std::vector<std::string>> proxy_pods(const std::string& ns) const;
  Result<std::vector<HostPort>> proxy_servers(const Told& told);
  Status serve(const Told& told);
  void stop();
  Result<controller::Outcome> report(const Told& told);
  void note(std::string problem);

  const ClusterProxyOptions options_;
  const std::shared_ptr<AccountToken> account_ = std::make_shared<AccountToken>();
  const std::shared_ptr<Credential> on_hub_;
  const std::shared_ptr<Credential> tunnel_;
  kube::RestConfig as_account_config_;
  kube::Client as_account_;
  kube::RestConfig as_addon_config_;
  kube::Client as_addon_;
  std::vector<std::unique_ptr<proxy::PodForward>> forwards_;  // to proxy servers without an address
  std::unique_ptr<Told> served_;                              // what the server was started with
  mutable std::mutex mutex_;                                  // guards what follows
  std::shared_ptr<proxy::AgentServer> server_;
  std::string problem_;
};

}  // namespace fleetadm::agent
