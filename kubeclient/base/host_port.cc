#include "kubeclient/base/host_port.h"

#include <charconv>

namespace fleetadm {

std::optional<HostPort> split_host_port(std::string_view text) {
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    const auto rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') return std::nullopt;
    return HostPort{std::string(text.substr(1, end - 1)), std::string(rest.substr(rest.empty() ? 0 : 1))};
  }
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return HostPort{std::string(text), {}};
  return HostPort{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

std::string join_host_port(std::string_view host, std::string_view port) {
  const bool ipv6 = host.find(':') != std::string_view::npos;
  std::string out = ipv6 ? "[" : "";
  out.append(host).append(ipv6 ? "]:" : ":").append(port);
  return out;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

}  // namespace fleetadm
