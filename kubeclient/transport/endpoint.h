// The server's address of a RestConfig, taken apart and judged before anything is sent.
#pragma once

#include <string>

#include "kubeclient/base/result.h"
#include "kubeclient/config/rest_config.h"

namespace fleetadm::kube {

struct Endpoint {
  std::string scheme;  // "https", or "http" for loopback hosts and unix sockets
  std::string host;    // IPv6 in brackets
  std::string port;
  std::string prefix;       // path before every request's, without a trailing slash
  std::string unix_socket;  // "unix:/path" servers
  bool loopback = false;

  /// "host:port" as a person knows it.
  std::string authority() const { return unix_socket.empty() ? host + ":" + port : unix_socket; }
};

/// kUsage for an address that is none, kTls for insecure-skip-tls-verify and for plain http beyond loopback.
Result<Endpoint> parse_endpoint(const RestConfig& config);

/// Whether a kubeconfig's server is this machine itself. An address that is none is not.
bool is_loopback_server(const std::string& server);

/// "fleetadm/<version> (<os>/<arch>)".
std::string default_user_agent();

}  // namespace fleetadm::kube
