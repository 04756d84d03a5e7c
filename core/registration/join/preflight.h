// What join checks before it writes anything: one line a hop, so that a person sees where the way to the hub ends.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

enum class Outcome { kPassed, kWarning, kFailed, kSkipped };
std::string_view to_string(Outcome outcome);

struct Check {
  std::string name;  // "DNS", "TCP", "cluster-info", "CA pin", "TLS", "token", "hub", "RBAC", "version", "clock"
  Outcome outcome = Outcome::kPassed;
  std::string detail;
};

/// How far this machine's clock is from a server's: more than a minute is a warning, more than five a failure.
Check clock_check(const std::optional<Instant>& date, const Clock& clock);

struct HubEndpoint {
  std::string server;  // https://host:port
  std::string token;
  std::string ca_pin;  // "sha256:…"; may be empty where ca_pem is given or system_roots is set
  std::string ca_pem;  // from --ca-file
  bool system_roots = false;
  std::string proxy_url;
  std::string proxy_ca_pem;  // trusted beside the hub's CA: of a proxy that is reached by TLS, or that ends it
  std::string cluster_name;
  /// The hub is known by its cluster-info (cluster_info.h), which has to be signed with the token and to have a CA with the pin;
  /// what the server itself shows does not count.
  bool signed_info = false;
};

struct Preflight {
  std::vector<Check> checks;
  std::optional<Error> error;  // of the first check that failed
  kube::RestConfig hub;        // how the hub is reached; ca_data is what the pin confirmed
};

/// Runs the checks in order; what depends on a failed one is skipped. The token is sent only after the CA was confirmed.
Preflight check_hub(const HubEndpoint& endpoint, const Clock& clock, std::stop_token stop);

}  // namespace fleetadm::join
