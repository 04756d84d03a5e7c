// The proxy by which this process reaches a server, for connections that libcurl does not make. What libcurl makes follows the
// same settings by itself.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "kubeclient/base/result.h"
#include "kubeclient/config/files.h"
#include "kubeclient/config/rest_config.h"

namespace fleetadm::kube {

/// A proxy that is asked by CONNECT.
struct ForwardProxy {
  bool tls = false;           // the proxy itself is reached by TLS
  std::string host;           // without brackets
  std::string port;           // where the URL has none, libcurl's: 1080, or 443 with TLS
  std::string authorization;  // "Basic …"; empty: none
  std::string ca;             // PEM, which vouches for a proxy with TLS; empty: the system's roots

  std::string authority() const;
  bool operator==(const ForwardProxy&) const = default;
};

/// By which proxy `host` (a name, or an address without brackets) is reached where a configuration says so for its server:
/// proxy-url, else HTTPS_PROXY and ALL_PROXY unless NO_PROXY names the host. Nothing: directly. kUsage for a URL that is none,
/// kUnsupported for SOCKS. No message repeats a password.
Result<std::optional<ForwardProxy>> forward_proxy(const RestConfig& config, std::string_view host,
                                                  const std::function<std::string(const char*)>& variable = environment);

/// Whether a list as in NO_PROXY names the host: "*", names with all names below them, addresses and prefixes.
bool bypasses_proxy(std::string_view no_proxy, std::string_view host);

}  // namespace fleetadm::kube
