#include "core/sandbox/convert/service_address.h"

#include "kubeclient/base/host_port.h"

namespace fleetadm::sandbox::convert {
namespace {

/// The number of the port of that name in a list of ports; 0 where there is none.
std::int64_t port_named(const Json& ports, const std::string& name) {
  for (const Json& one : ports) {
    if (str(one, {"name"}) == name) return num(one, {"port"});
  }
  return 0;
}

std::string address_in_slices(const Store& store, const std::string& ns, const std::string& service, const std::string& port) {
  const auto slices = store.list("discovery.k8s.io/endpointslices", ns);
  if (!slices) return {};
  for (const auto& item : slices->items) {
    const Json slice = item.object->json();
    const auto number = port_named(list_at(slice, {"ports"}), port);
    if (number == 0 || label_of(slice, "kubernetes.io/service-name") != service) continue;
    for (const Json& endpoint : list_at(slice, {"endpoints"})) {
      const auto addresses = string_list_at(endpoint, {"addresses"});
      if (!addresses.empty() && flag(endpoint, {"conditions", "ready"}, true))
        return join_host_port(addresses.front(), std::to_string(number));
    }
  }
  return {};
}

std::string address_in_endpoints(const Store& store, const std::string& ns, const std::string& service, const std::string& port) {
  const auto stored = store.get("/endpoints", ns, service);
  if (!stored) return {};
  const Json endpoints = stored->json();
  for (const Json& subset : list_at(endpoints, {"subsets"})) {
    const auto number = port_named(list_at(subset, {"ports"}), port);
    for (const Json& address : list_at(subset, {"addresses"})) {
      if (number != 0) return join_host_port(str(address, {"ip"}), std::to_string(number));
    }
  }
  return {};
}

}  // namespace

Result<std::string> service_address(const Store& store, const std::string& ns, const std::string& name, int port) {
  const auto stored = store.get("/services", ns, name);
  if (!stored) return fail(Category::kUnavailable, "service \"" + name + "\" not found");
  const Json service = stored->json();
  if (str(service, {"spec", "type"}) == "ExternalName")
    return join_host_port(str(service, {"spec", "externalName"}), std::to_string(port));
  const Json* wanted = nullptr;
  for (const Json& one : list_at(service, {"spec", "ports"})) {
    if (num(one, {"port"}) == port) wanted = &one;
  }
  if (wanted == nullptr)
    return fail(Category::kUnavailable, "no service port " + std::to_string(port) + " found for service \"" + name + "\"");
  const auto port_name = str(*wanted, {"name"});
  auto address = address_in_slices(store, ns, name, port_name);
  if (address.empty()) address = address_in_endpoints(store, ns, name, port_name);
  if (address.empty()) return fail(Category::kUnavailable, "no endpoints available for service \"" + name + "\"");
  return address;
}

}  // namespace fleetadm::sandbox::convert
