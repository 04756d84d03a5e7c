// Addresses that a registry hands out: of uploads, of what it keeps elsewhere, of the service that issues tokens.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm::image {

struct Url {
  std::string origin;  // "https://host:port", host in lower case, port always there
  std::string target;  // path and query: "/v2/…?…"

  bool https() const { return origin.starts_with("https://"); }
};

/// An absolute URL with the scheme https or http, without credentials in it. kInvalid for anything else.
Result<Url> parse_url(std::string_view text);
/// What a Location header means in the answer to a request for `base`.
Result<Url> resolve_url(const Url& base, std::string_view location);
/// The target with one more query parameter, whose value is encoded.
std::string with_parameter(const std::string& target, std::string_view name, std::string_view value);

}  // namespace fleetadm::image
