#include "core/api/gateway.h"

#include <algorithm>

#include "kubeclient/base/host_port.h"

namespace fleetadm::api {
namespace {

constexpr const char* kServerKey = "server";
constexpr const char* kTunnelKey = "tunnel";
constexpr const char* kCaKey = "ca.crt";
constexpr const char* kKonnectivityKey = "konnectivity";
constexpr const char* kAccepted = "accepted";
constexpr std::size_t kMaxTunnels = 32;  // agents keep a connection to each

bool is_address(const std::string& text) {
  const auto parts = split_host_port(text);
  const bool odd = std::any_of(text.begin(), text.end(), [](char c) { return c <= ' ' || c > '~'; });
  return parts && !odd && !parts->host.empty() && parse_port(parts->port).value_or(0) != 0;
}

tl::unexpected<Error> unusable(const std::string& what) {
  return fail(Category::kInvalid, "ConfigMap " + std::string(kGatewayConfigMap) + ": " + what);
}

}  // namespace

Result<std::optional<PublishedGateway>> read_gateway(const Json& config_map) {
  PublishedGateway gateway;
  gateway.server = str(config_map, {"data", kServerKey});
  gateway.ca = str(config_map, {"data", kCaKey});
  const std::string lines = str(config_map, {"data", kTunnelKey});
  for (std::size_t from = 0; from < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', from), lines.size());
    if (std::string line = lines.substr(from, end - from); !line.empty()) {
      if (!is_address(line)) return unusable("data[" + std::string(kTunnelKey) + "] has a line that is not HOST:PORT");
      if (gateway.tunnels.size() == kMaxTunnels)
        return unusable("data[" + std::string(kTunnelKey) + "] has more than " + std::to_string(kMaxTunnels) + " lines");
      gateway.tunnels.push_back(std::move(line));
    }
    from = end + 1;
  }
  if (gateway == PublishedGateway{}) return std::nullopt;
  if (!gateway.server.starts_with("https://"))
    return unusable("data[" + std::string(kServerKey) + "] is not of the form https://HOST:PORT");
  if (gateway.ca.empty()) return unusable("data[" + std::string(kCaKey) + "] is missing");
  gateway.konnectivity = str(config_map, {"data", kKonnectivityKey}) == kAccepted;
  return gateway;
}

Json gateway_data(const PublishedGateway& gateway) {
  std::string lines;
  for (const std::string& tunnel : gateway.tunnels) lines += tunnel + "\n";
  Json data{{kServerKey, gateway.server}, {kTunnelKey, lines}, {kCaKey, gateway.ca}};
  if (gateway.konnectivity) data[kKonnectivityKey] = kAccepted;
  return data;
}

}  // namespace fleetadm::api
