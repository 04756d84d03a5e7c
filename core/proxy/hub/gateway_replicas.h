// Which replicas of the gateway there are: each writes itself into an annotation of the ConfigMap and renews that now and then;
// what was not renewed for long is dropped. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/gateway.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::proxy {

/// Of the ConfigMap: a JSON object of the replicas, by the address at which the others reach them, or where there is none,
/// agents.
inline constexpr std::string_view kReplicasAnnotation = "fleetadm.io/gateway-replicas";
/// Of the ConfigMap, which has no status: a JSON list of conditions.
inline constexpr std::string_view kConditionsAnnotation = "fleetadm.io/conditions";
inline constexpr Duration kReplicaRenewal = std::chrono::minutes(10);
inline constexpr Duration kReplicaLife = std::chrono::minutes(30);

/// One replica by the addresses at which others reach it. Behind a Service, those for clients and agents are all replicas'.
struct GatewayReplica {
  std::string server;         // https://HOST:PORT
  std::string tunnel;         // HOST:PORT
  std::string peer = {};      // HOST:PORT for other replicas; empty: it takes no requests of theirs
  bool konnectivity = false;  // it serves the add-on cluster-proxy, too

  bool operator==(const GatewayReplica&) const = default;
};

/// The ConfigMap as it should be: `own` is in it, who has been silent for too long is not. The same where nothing is to be
/// written.
Json with_replica(const Json& config_map, const GatewayReplica& own, const std::string& ca, Instant now);
/// The ConfigMap with the condition ExposedServicesRead in its annotation: False, with the problem, where the list that is there
/// cannot be read.
Json with_exposed_condition(Json config_map, std::string_view problem, Instant now);
/// Where the others are reached that live, for requests to clusters whose tunnel they have.
std::vector<std::string> peers_of(const Json& config_map, const GatewayReplica& own, Instant now);
/// How many that live serve the add-on cluster-proxy, `own` among them if it does.
std::size_t konnectivity_replicas(const Json& config_map, const GatewayReplica& own, Instant now);
/// The ConfigMap once `own` has ended in order.
Json without_replica(const Json& config_map, const GatewayReplica& own, Instant now);

}  // namespace fleetadm::proxy
