// Services: the address and the ports that the server gives them.
#include <array>

#include "core/sandbox/kinds/kind_steps.h"
#include "core/sandbox/kinds/service_ports.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox {
namespace {

bool has_address(const Json& service) { return str(service, {"spec", "type"}) != "ExternalName"; }

void give_address(Json& service) {
  if (!has_address(service)) return;
  if (const auto wanted = str(service, {"spec", "clusterIP"}); !wanted.empty()) {
    set_default(service, {"spec", "clusterIPs"}, {wanted});
    if (wanted == "None" && object_at(service, {"spec", "selector"}).empty()) {
      // Whoever writes its endpoints may write any address.
      set_default(service, {"spec", "ipFamilies"}, {"IPv4", "IPv6"});
      set_default(service, {"spec", "ipFamilyPolicy"}, "RequireDualStack");
    }
  } else {
    // Nothing routes to it: it only has to look like an address and stay the same.
    const auto digest = sha256_hex(uid_of(service));
    const auto byte = [&](std::size_t at) { return std::to_string(1 + std::stoul(digest.substr(at, 2), nullptr, 16) % 254); };
    const auto address = "10.96." + byte(0) + "." + byte(2);
    at_or_make(service, {"spec", "clusterIP"}) = address;
    at_or_make(service, {"spec", "clusterIPs"}) = {address};
  }
  set_default(service, {"spec", "ipFamilies"}, {"IPv4"});
  set_default(service, {"spec", "ipFamilyPolicy"}, "SingleStack");
}

/// What the server had given the service stays where the client leaves it out, and goes with its type.
void keep_address(Json& service, const Json& old) {
  constexpr std::array kGiven = {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"};
  if (!has_address(service)) {
    if (has_address(old)) {
      for (const char* field : kGiven) erase_at(service, {"spec", field});
    }
    return;
  }
  if (!has_address(old)) return give_address(service);
  const auto now = str(service, {"spec", "clusterIP"});
  if (now.empty()) {
    for (const char* field : kGiven) {
      if (const Json* value = find(old, {"spec", field})) set_default(service, {"spec", field}, *value);
    }
    return;
  }
  // Clients that know only of the first one.
  auto all = string_list_at(service, {"spec", "clusterIPs"});
  if (all.empty() || (now != str(old, {"spec", "clusterIP"}) && all == string_list_at(old, {"spec", "clusterIPs"}))) {
    if (all.empty()) all.emplace_back();
    all.front() = now;
    at_or_make(service, {"spec", "clusterIPs"}) = all;
  }
  set_default(service, {"spec", "ipFamilies"}, list_at(old, {"spec", "ipFamilies"}));
  set_default(service, {"spec", "ipFamilyPolicy"}, str(old, {"spec", "ipFamilyPolicy"}, "SingleStack"));
}

}  // namespace

Strategy service_strategy() {
  Strategy out;
  out.defaults = [](Json& service) { set_default(service, {"status", "loadBalancer"}, Json::object()); };
  out.create = [](const StrategyContext& context, Json& service) -> ApiStatus {
    give_address(service);
    return give_node_ports(context, service, nullptr);
  };
  out.update = [](const StrategyContext& context, Json& service, const Json& old) -> ApiStatus {
    keep_address(service, old);
    FLEETADM_CHECK(give_node_ports(context, service, &old));
    return check_update(context, service, old);
  };
  return out;
}

}  // namespace fleetadm::sandbox
