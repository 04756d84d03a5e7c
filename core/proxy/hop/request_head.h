// The head of a request as HTTP/1.1 writes it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/serve/http/message.h"
#include "kubeclient/base/result.h"

namespace fleetadm::proxy {

/// Where the requests of a hop go to.
struct ServerAddress {
  bool tls = true;
  std::string host;  // without brackets
  std::string port;
  std::string authority;  // as it stands in the URL: the host header
  std::string prefix;     // of all paths; empty, or begins with '/' and does not end with one
};
/// "https://host[:port][/prefix]", or "http://…". kUsage.
Result<ServerAddress> parse_server(std::string_view url);

/// How the body is framed.
struct BodyFraming {
  std::optional<std::uint64_t> length;
  bool chunked = false;
};

/// Method, path and query byte for byte behind the address's prefix; its host header; the request's headers without those of its
/// connection, host and expect; `upgrade` as its protocol, where that is not empty; `token` as the bearer, where that is not
/// empty. 400 (kInvalid) for what could be read as something else: control characters, spaces in a path, names that are no
/// tokens.
Result<std::string> write_request_head(const serve::HttpRequest& request, const ServerAddress& address,
                                       const BodyFraming& framing, std::string_view upgrade, std::string_view token);

}  // namespace fleetadm::proxy
