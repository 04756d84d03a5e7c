#include "core/proxy/hub/gateway_replicas.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/controller/controller.h"

namespace fleetadm::proxy {
namespace {

constexpr std::size_t kLongestMessage = 1024;  // it quotes what somebody wrote

struct Seen {
  GatewayReplica replica;
  Instant since;
  Instant renewed;
};
using Replicas = std::map<std::string, Seen>;

const std::string& key_of(const GatewayReplica& replica) { return replica.peer.empty() ? replica.tunnel : replica.peer; }

/// Those that renewed themselves not long ago. What cannot be read was written by nobody.
Replicas living(const Json& config_map, Instant now) {
  Replicas replicas;
  const auto text = str(config_map, {"metadata", "annotations", kReplicasAnnotation});
  const auto known = parse_json(text.empty() ? "{}" : text);
  if (!known || !known->is_object()) return replicas;
  for (const auto& [key, said] : known->items()) {
    const auto renewed = parse_time(str(said, {"renewed"}));
    const bool lives = renewed && now - *renewed < kReplicaLife && *renewed - now < kReplicaLife;  // clocks differ
    const std::string tunnel = str(said, {"tunnel"});
    if (!lives || tunnel.empty()) continue;
    const GatewayReplica replica{str(said, {"server"}), tunnel, str(said, {"peer"}), flag(said, {"konnectivity"})};
    replicas[key] = {replica, parse_time(str(said, {"since"})).value_or(*renewed), *renewed};
  }
  return replicas;
}

Json with_replicas(Json config_map, const Replicas& replicas, const std::string& ca) {
  Json said = Json::object();
  api::PublishedGateway gateway;
  gateway.ca = ca;
  const Seen* newest = nullptr;  // an older one may be gone without a word
  for (const auto& [key, seen] : replicas) {
    said[key] = {{"server", seen.replica.server},
                 {"tunnel", seen.replica.tunnel},
                 {"since", format_micro_time(seen.since)},  // two of one second have an order, too
                 {"renewed", format_time(seen.renewed)}};
    if (!seen.replica.peer.empty()) said[key]["peer"] = seen.replica.peer;
    if (seen.replica.konnectivity) said[key]["konnectivity"] = true;
    gateway.konnectivity = gateway.konnectivity || seen.replica.konnectivity;
    if (newest == nullptr || seen.since > newest->since) newest = &seen;
    gateway.tunnels.push_back(seen.replica.tunnel);
  }
  std::sort(gateway.tunnels.begin(), gateway.tunnels.end());
  gateway.tunnels.erase(std::unique(gateway.tunnels.begin(), gateway.tunnels.end()), gateway.tunnels.end());
  if (newest != nullptr) gateway.server = newest->replica.server;
  at_or_make(config_map, {"metadata", "annotations", kReplicasAnnotation}) = dump_json(said);
  config_map["data"] = api::gateway_data(gateway);
  return config_map;
}

}  // namespace

Json with_replica(const Json& config_map, const GatewayReplica& own, const std::string& ca, Instant now) {
  Replicas replicas = living(config_map, now);
  const auto known = replicas.find(key_of(own));
  const bool same = known != replicas.end() && known->second.replica == own;
  const bool fresh = same && now - known->second.renewed < kReplicaRenewal;
  if (!fresh) replicas[key_of(own)] = {own, same ? known->second.since : now, now};
  return with_replicas(config_map, replicas, ca);
}

Json with_exposed_condition(Json config_map, std::string_view problem, Instant now) {
  const std::string known = str(config_map, {"metadata", "annotations", kConditionsAnnotation});
  Json conditions = parse_json(known.empty() ? "[]" : known).value_or(Json());
  if (!conditions.is_array()) conditions = Json::array();
  const bool read = problem.empty();
  const bool changed =
      controller::set_condition(conditions, "ExposedServicesRead", read ? "True" : "False", read ? "Read" : "Invalid",
                                read ? "the list of exposed services is in use" : problem.substr(0, kLongestMessage), now);
  if (changed) at_or_make(config_map, {"metadata", "annotations", kConditionsAnnotation}) = dump_json(conditions);
  return config_map;
}

Json without_replica(const Json& config_map, const GatewayReplica& own, Instant now) {
  Replicas replicas = living(config_map, now);
  // The last one stays: it is likely to come back, and agents wait for it without being told anything twice.
  if (replicas.size() < 2 || replicas.erase(key_of(own)) == 0) return config_map;
  return with_replicas(config_map, replicas, str(config_map, {"data", "ca.crt"}));
}

std::vector<std::string> peers_of(const Json& config_map, const GatewayReplica& own, Instant now) {
  std::vector<std::string> out;
  for (const auto& [key, seen] : living(config_map, now)) {
    if (!seen.replica.peer.empty() && seen.replica.peer != own.peer) out.push_back(seen.replica.peer);
  }
  return out;
}

std::size_t konnectivity_replicas(const Json& config_map, const GatewayReplica& own, Instant now) {
  const Replicas replicas = living(config_map, now);
  const auto others = std::ranges::count_if(
      replicas, [&](const auto& one) { return one.second.replica.konnectivity && one.first != key_of(own); });
  return static_cast<std::size_t>(others) + (own.konnectivity ? 1 : 0);
}

}  // namespace fleetadm::proxy
