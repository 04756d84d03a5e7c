#include "core/serve/http/listen_address.h"

#include "kubeclient/base/host_port.h"
#include "kubeclient/base/ip_address.h"

namespace fleetadm::serve {

bool ListenAddress::is_loopback() const {
  const auto address = IpAddress::parse(host);
  return address && address->is_loopback();
}

Result<ListenAddress> parse_listen_address(const std::string& text) {
  const auto parts = split_host_port(text);
  const auto port = parts ? parse_port(parts->port) : std::nullopt;
  if (!port) {
    return fail(Category::kUsage, "\"" + text + "\" is no listen address",
                "write host:port, for example 127.0.0.1:8080 or :8080");
  }
  return ListenAddress{parts->host == "localhost" ? "127.0.0.1" : parts->host.empty() ? "0.0.0.0" : parts->host, *port};
}

}  // namespace fleetadm::serve
