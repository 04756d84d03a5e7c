#include "core/sandbox/kinds/service_ports.h"

#include <map>
#include <set>

#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox {
namespace {

constexpr std::int64_t kFirstNodePort = 30000;
constexpr std::int64_t kLastNodePort = 32767;

using PortNumbers = std::set<std::int64_t>;

bool is_load_balancer(const Json& service) { return str(service, {"spec", "type"}) == "LoadBalancer"; }
bool has_node_ports(const Json& service) { return str(service, {"spec", "type"}) == "NodePort" || is_load_balancer(service); }
bool gets_node_ports(const Json& service) {
  return has_node_ports(service) &&
         (!is_load_balancer(service) || flag(service, {"spec", "allocateLoadBalancerNodePorts"}, true));
}
bool has_health_port(const Json& service) {
  return is_load_balancer(service) && str(service, {"spec", "externalTrafficPolicy"}) == "Local";
}

PortNumbers node_ports_of(const Json& service) {
  PortNumbers out;
  for (const Json& port : list_at(service, {"spec", "ports"})) out.insert(num(port, {"nodePort"}));
  out.insert(num(service, {"spec", "healthCheckNodePort"}));
  out.erase(0);
  return out;
}

PortNumbers of_other_services(const StrategyContext& context, const Json& service) {
  PortNumbers out;
  const auto all = context.engine.store().list(context.kind.storage, "");
  if (!all) return out;
  for (const auto& item : all->items) {
    if (item.ns == namespace_of(service) && item.name == name_of(service)) continue;
    out.merge(node_ports_of(item.object->json()));
  }
  return out;
}

std::int64_t free_node_port(const Json& service, PortNumbers& used) {
  constexpr std::int64_t kCount = kLastNodePort - kFirstNodePort + 1;
  const auto digest = sha256_hex(uid_of(service));
  const auto begin = std::stoll(digest.substr(0, 8), nullptr, 16) % kCount;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const auto port = kFirstNodePort + (begin + i) % kCount;
    if (used.insert(port).second) return port;
  }
  return 0;
}

/// What the server had given to a port stays with the port's name.
void keep_node_ports(Json& service, const Json& old) {
  std::map<std::string, std::int64_t> known;
  for (const Json& port : list_at(old, {"spec", "ports"})) known[str(port, {"name"})] = num(port, {"nodePort"});
  const auto now = node_ports_of(service);
  for (Json& port : at_or_make(service, {"spec", "ports"})) {
    if (num(port, {"nodePort"}) != 0) continue;
    const auto before = known.find(str(port, {"name"}));
    if (before != known.end() && before->second != 0 && !now.contains(before->second)) port["nodePort"] = before->second;
  }
  if (has_health_port(service) && has_health_port(old) && num(service, {"spec", "healthCheckNodePort"}) == 0)
    at_or_make(service, {"spec", "healthCheckNodePort"}) = num(old, {"spec", "healthCheckNodePort"});
}

void take_type_fields(Json& service, const Json& old) {
  if (has_node_ports(old) && !has_node_ports(service)) {
    if (node_ports_of(service) == node_ports_of(old)) {
      for (Json& port : at_or_make(service, {"spec", "ports"})) port.erase("nodePort");
    }
    if (str(service, {"spec", "externalTrafficPolicy"}) == str(old, {"spec", "externalTrafficPolicy"}))
      erase_at(service, {"spec", "externalTrafficPolicy"});
  }
  if (has_health_port(old) && !has_health_port(service) &&
      num(service, {"spec", "healthCheckNodePort"}) == num(old, {"spec", "healthCheckNodePort"}))
    erase_at(service, {"spec", "healthCheckNodePort"});
  if (is_load_balancer(old) && !is_load_balancer(service)) erase_at(service, {"spec", "allocateLoadBalancerNodePorts"});
}

}  // namespace

ApiStatus give_node_ports(const StrategyContext& context, Json& service, const Json* old) {
  if (list_at(service, {"spec", "ports"}).empty()) return {};
  if (old != nullptr) {
    take_type_fields(service, *old);
    if (has_node_ports(service) && has_node_ports(*old)) keep_node_ports(service, *old);
  }
  if (!has_node_ports(service)) return {};
  const auto mine = old == nullptr ? PortNumbers() : node_ports_of(*old);
  auto used = of_other_services(context, service);
  std::map<std::int64_t, std::int64_t> shared;  // two protocols of one port get the same
  int index = 0;
  for (Json& port : at_or_make(service, {"spec", "ports"})) {
    const auto at = "spec.ports[" + std::to_string(index++) + "].nodePort";
    const auto wanted = num(port, {"nodePort"});
    const auto number = num(port, {"port"});
    if (wanted == 0) {
      if (!gets_node_ports(service)) continue;
      if (!shared.contains(number)) shared[number] = free_node_port(service, used);
      port["nodePort"] = shared[number];
    } else if (!mine.contains(wanted)) {
      if (wanted < kFirstNodePort || wanted > kLastNodePort) {
        return invalid(context.kind, name_of(service),
                       {bad_value(at, wanted,
                                  "provided port is not in the valid range. The range of valid ports is " +
                                      std::to_string(kFirstNodePort) + "-" + std::to_string(kLastNodePort))});
      }
      if (used.contains(wanted))
        return invalid(context.kind, name_of(service), {bad_value(at, wanted, "provided port is already allocated")});
      shared.emplace(number, wanted);
    }
  }
  used.merge(node_ports_of(service));
  if (has_health_port(service) && num(service, {"spec", "healthCheckNodePort"}) == 0)
    at_or_make(service, {"spec", "healthCheckNodePort"}) = free_node_port(service, used);
  return {};
}

}  // namespace fleetadm::sandbox
