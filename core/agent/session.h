// A joined agent at work: waits until the hub accepts the cluster, then runs the controllers of registration, of works and of
// add-ons until the credential is lost, the bootstrap kubeconfig names another hub, or the agent is told to stop.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "core/agent/cluster_proxy.h"
#include "core/agent/gateway_tunnels.h"
#include "core/agent/hub_credentials.h"
#include "core/agent/parts.h"
#include "core/agent/runtime.h"
#include "core/registration/agent/certificate_keeper.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::agent {

/// As the agent itself.
kube::Client connect_to_hub(const Runtime& runtime, const registration::agent::Endpoint& endpoint,
                            std::shared_ptr<kube::CredentialSource> credentials);

struct SessionEnd {
  enum class Why { kBootstrapChanged, kCredentialLost, kLookAgain };
  Why why = Why::kLookAgain;
  std::string detail;  // empty: nothing that somebody has to know
};

/// At a time, of the agent's pool. It has as many as all together, so that works that hang do not delay the lease.
inline constexpr int kSupervisorThreads = 1;
inline constexpr int kRegistrationThreads = 3;
inline constexpr int kWorkThreads = 4;
inline constexpr int kAddonThreads = 2;
inline constexpr int kAgentThreads = kSupervisorThreads + kRegistrationThreads + kWorkThreads + kAddonThreads;

/// Its controllers work on the agent's pool until it is destroyed. look() is not thread-safe.
class Session {
 public:
  /// `bootstrap`: as read when the session begins, where there is one.
  Session(Runtime& runtime, registration::agent::Identity identity, registration::agent::Endpoint endpoint,
          std::optional<Bootstrap> bootstrap, const registration::agent::HubSecret& secret);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  struct Look {
    Duration again{};               // to be looked after again after this time at the latest
    std::optional<SessionEnd> end;  // it is over
  };
  /// Goes on once the hub has accepted the cluster, and sees whether the session has to end. Takes the fired signals.
  Look look();

 private:
  bool accepted();
  void keep_works();
  void start_works();
  void begin(controller::Manager& manager);
  void start_controllers();
  void add_lease(const controller::ControllerOptions& base);
  void add_served_apis();
  void add_status(const controller::ControllerOptions& base);
  void add_certificate(const controller::ControllerOptions& base);
  void start_addons();
  void add_gateway(const controller::ControllerOptions& base);
  void add_cluster_proxy();
  std::optional<SessionEnd> over();
  /// Of several hubs: whether this one denies the cluster, is silent, or leaves it waiting.
  std::optional<SessionEnd> leaves_hub(Instant now) const;
  std::optional<Json> cluster() const;
  /// The hub misses the heartbeat of the cluster, and none of this process has come to it since.
  bool awaits_heartbeat(const Json& cluster) const;

  Runtime& runtime_;
  registration::agent::Identity identity_;
  registration::agent::Endpoint endpoint_;
  std::optional<Bootstrap> bootstrap_;
  std::shared_ptr<HubCredentials> credentials_;
  kube::Client hub_;
  Rejections rejections_;
  std::atomic<Instant> heard_;   // when the hub last answered as it should
  std::atomic<Instant> beat_{};  // when it last took a heartbeat
  Instant bootstrap_read_{};
  Instant began_{};
  Instant registered_{};  // last
  Duration accept_pause_{};
  std::optional<Instant> works_looked_;
  std::chrono::steady_clock::time_point started_{};  // the controllers
  std::shared_ptr<Parts> parts_ = std::make_shared<Parts>();
  std::shared_ptr<kube::Informer> clusters_;
  std::shared_ptr<registration::agent::CertificateKeeper> certificate_;
  std::shared_ptr<controller::Queue> certificate_queue_;
  std::unique_ptr<GatewayTunnels> gateway_;
  std::unique_ptr<ClusterProxy> cluster_proxy_;
  std::optional<controller::Manager> registration_;  // the managers last: they end before what their controllers use
  std::optional<controller::Manager> work_;
  std::optional<controller::Manager> addons_;
};

}  // namespace fleetadm::agent
