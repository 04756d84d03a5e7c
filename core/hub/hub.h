// The hub program: which controllers run, with which client, behind which lease. `fleetadm hub run` and tests start it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/push/health.h"
#include "core/registration/hub/awsirsa_driver.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/lease/leader.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::hub {

struct HubOptions {
  std::string ns = "open-cluster-management-hub";  // of the leader lease
  bool leader_elect = false;
  kube::LeaderTiming leader_timing;
  std::string identity;         // of this replica; empty: host name and a random suffix
  std::string health_address;   // "127.0.0.1:0", ":8443"; empty: no health server
  std::string webhook_address;  // of the conversion of add-on versions; empty: not served
  std::string webhook_url;      // how API servers reach it (addon::WebhookOptions)
  std::vector<std::string> auto_approve_users;
  bool csr = true;                                           // clusters register with certificates
  std::optional<registration::hub::AwsIrsaOptions> awsirsa;  // clusters of EKS register with their own identity
  bool cluster_profiles = false;                             // copies of accounts' tokens for ClusterProfiles
  bool push = false;                                         // members that the hub dials itself (core/push)
  Duration push_period = std::chrono::seconds(10);           // PushOptions::period
  push::Holds push_holds;
  Duration push_give_up_after = Duration::zero();  // PushOptions::give_up_after
  std::map<std::string, std::string> labels;       // for the objects that registration creates
  int threads = 16;                                // workers mostly wait for the API server
  std::shared_ptr<kube::WriteGate> gate;           // null: an ordinary one
  std::shared_ptr<Clock> clock = Clock::system();
};

inline constexpr std::string_view kLeaderLease = "fleetadm-hub-lock";

/// Blocks until `stop` (then success) or until the hub cannot go on: caches that never sync (kTimeout), a lost lease
/// (kUnavailable), an unusable health address (kUsage, kUnavailable).
Status run_hub(const kube::RestConfig& config, const HubOptions& options, std::stop_token stop);
/// The same with a client of the caller's (options.gate is not used).
Status run_hub(const kube::Client& client, const HubOptions& options, std::stop_token stop);

}  // namespace fleetadm::hub
