// The gateway to the clusters of a hub, as it is published there for agents and clients: ConfigMap fleetadm-gateway
// (docs/reference/gateway.md#publishing).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::api {

/// All in kHubNamespace.
inline constexpr std::string_view kGatewayConfigMap = "fleetadm-gateway";
inline constexpr std::string_view kGatewayAuthoritySecret = "fleetadm-gateway-ca";
inline constexpr std::string_view kGatewayService = "fleetadm-gateway";
/// On works by which the hub gives agents their rights for the gateway: nobody's workload.
inline constexpr std::string_view kGatewayWorkLabel = "fleetadm.io/gateway";

struct PublishedGateway {
  std::string server;                // https://HOST:PORT, for clients
  std::vector<std::string> tunnels;  // HOST:PORT of each replica, that agents dial
  std::string ca;                    // PEM; vouches for both
  bool konnectivity = false;         // a replica serves the add-on cluster-proxy, too (gateway run --accept-konnectivity)
  bool operator==(const PublishedGateway&) const = default;
};

/// Nothing where the ConfigMap says nothing yet. kInvalid: what it says cannot be used.
Result<std::optional<PublishedGateway>> read_gateway(const Json& config_map);
/// The ConfigMap's data.
Json gateway_data(const PublishedGateway& gateway);

}  // namespace fleetadm::api
