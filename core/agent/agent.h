// The spoke's agent: one process for registration and work. It joins the hub that the bootstrap kubeconfig names, keeps its
// credential fresh, reports the cluster and runs the work engine; where the hub does not take its credential any more it joins
// again, in place (docs/reference/registration.md).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/agent/secret_watch.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "core/registration/agent/identity.h"
#include "core/registration/expiry/hop.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/result.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::agent {

/// How long the agent waits for what; tests shorten these.
struct Timing {
  Duration retry_first = std::chrono::seconds(1);  // after a failure; doubles up to
  Duration retry_longest = std::chrono::minutes(5);
  Duration rejoin_longest = std::chrono::minutes(10);      // between two joins where the hub refuses what it issued
  Duration watch_request = std::chrono::minutes(5);        // one wait for an answer to the certificate request
  Duration accept_first = std::chrono::milliseconds(500);  // between two looks whether the hub accepted the cluster
  Duration accept_longest = std::chrono::seconds(10);
  Duration check = std::chrono::seconds(5);              // of the running session
  Duration bootstrap_reread = std::chrono::seconds(30);  // of a bootstrap kubeconfig file
  Duration rejected_for = std::chrono::seconds(20);      // 401 for this long: the credential is lost
  Duration certificate_check = std::chrono::minutes(5);
  Duration other_hub_look =
      std::chrono::minutes(1);  // of several hubs, while the one that was joined has not accepted the cluster
};

struct AgentOptions {
  std::string ns = std::string(api::kAgentNamespace);
  std::string home_ns;       // of its secrets, where they are on another cluster than its own (AgentParts::home)
  std::string hosted_by;     // api::kHostedByClaim, where it is
  std::string cluster_name;  // empty: what was stored, else random
  std::string agent_id;      // empty: what was stored, else random
  std::vector<std::string> bootstrap_kubeconfigs;  // files, instead of the secrets
  /// One for each hub, in the order of preference; the agent is with one of them at a time.
  std::vector<std::string> bootstrap_secrets{std::string(api::kBootstrapSecret)};
  /// Silence after which, of several hubs, another one is joined; at least three lease periods.
  Duration hub_connection_timeout = std::chrono::minutes(10);
  std::string hub_kubeconfig_secret = std::string(api::kHubKubeconfigSecret);
  /// Service account (of the agent's namespace) that works are applied as, by impersonation; empty: the agent's own identity.
  std::string work_service_account;
  std::map<std::string, std::string> cluster_labels;  // that the agent registers its cluster with
  std::map<std::string, std::string> cluster_annotations;
  std::vector<std::string> external_server_urls;
  Duration healthcheck_period = std::chrono::minutes(1);
  std::int64_t max_custom_cluster_claims = 20;
  std::vector<std::string> reserved_cluster_claim_suffixes;
  std::int64_t client_cert_expiration_seconds = 0;
  /// Registration with an identity of AWS, of an agent on EKS: the ARNs of the hub's cluster and of its own. Without:
  /// certificates.
  struct AwsIrsa {
    std::string hub_arn;
    std::string managed_arn;
    std::string role_suffix;  // empty: that of both ARNs
  };
  std::optional<AwsIrsa> awsirsa;
  bool gateway = true;                              // keep tunnels to the hub's gateway, where it has one
  bool cluster_proxy = false;                       // serve the add-on cluster-proxy, where the hub has upstream's
  std::string addon_driver = "csr";                 // how add-ons authenticate to the hub: "csr" or "token"
  std::int64_t addon_token_expiration_seconds = 0;  // of tokens of add-ons; 0: the hub's own choice
  /// Tell Ready, the figures and the APIs of the cluster, as the hub does of clusters that it dials.
  bool report_figures = false;
  std::string health_address;  // empty: no health server
  bool leader_elect = false;
  std::string instance;  // of this process: event reporter, lease holder (a pod's or host's name)
  Timing timing;
};

/// A joined agent's two sides.
struct Joined {
  registration::agent::Identity identity;
  std::string hub_server;  // the address the hub was joined by
  kube::Client hub;
  kube::Client spoke;
};

struct AgentParts {
  /// Makes a client for a connection (production: kube::Client::connect with the process's write gate).
  std::function<kube::Client(const kube::RestConfig&)> connect;
  /// Adds the work engine's controllers for a joined hub; may be empty. They run in a manager of their own, so that a failing
  /// work engine leaves the heartbeat alone.
  std::function<void(controller::Manager&, const Joined&)> add_work;
  std::shared_ptr<Clock> clock = Clock::system();
  /// Where its controllers work; null: a pool of its own. One that agents share needs enough threads for works of some that hang.
  std::shared_ptr<controller::WorkerPool> pool = nullptr;
  std::string log_file = {};                        // lines of its controllers are appended to it; empty: stderr
  std::optional<kube::Client> home = std::nullopt;  // the cluster with its secrets, where that is not its own
  std::shared_ptr<SecretWatch> secrets = nullptr;   // of the namespace with its secrets; null: it watches each of them itself
};

/// Runs until `stop`. An Error only for what no waiting repairs: options that make no sense, a health address that cannot be
/// bound, leadership that was lost. Everything else is logged, shown on the health server's /debug/agent, and tried again.
Status run_agent(const AgentOptions& options, const kube::RestConfig& spoke, const AgentParts& parts, std::stop_token stop);

/// An agent that owns no thread: it works on the pool of its parts.
class RunningAgent {
 public:
  virtual ~RunningAgent() = default;  // stops it: at once where its clients' requests are stopped before
  RunningAgent() = default;
  /// What it does now, as on /debug/agent.
  virtual Json describe() const = 0;
  /// What it holds that ends some day, judged as of now.
  virtual std::vector<registration::expiry::Hop> certificates() const = 0;
  RunningAgent(const RunningAgent&) = delete;
  RunningAgent& operator=(const RunningAgent&) = delete;
};
/// Begins what run_agent() does, but for the election of a leader and the process's memory, which are the process's own affair.
Result<std::unique_ptr<RunningAgent>> start_agent(const AgentOptions& options, const kube::RestConfig& spoke,
                                                  const AgentParts& parts);

}  // namespace fleetadm::agent
