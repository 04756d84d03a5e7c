// AWS Signature Version 4 of a request. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kubeclient/base/clock.h"
#include "kubeclient/transport/transport.h"

namespace fleetadm::registration::aws {

struct Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;       // of temporary ones
  std::optional<Instant> expires;  // of temporary ones
};

struct Scope {
  std::string region;
  std::string service;  // "iam", "eks", "sts"
};

/// Adds the headers X-Amz-Date, X-Amz-Security-Token and Authorization. `host`: as the request will name it in its Host header.
/// The request's path is percent-encoded; body, query and content type are final.
void sign(kube::Request& request, std::string_view host, const Credentials& credentials, const Scope& scope, Instant now);

/// The query of a GET of "/" that anybody can send within `valid`, with exactly these headers (names in lower case).
std::string presigned_query(kube::Query query, std::map<std::string, std::string> headers, const Credentials& credentials,
                            const Scope& scope, Instant now, Duration valid);

/// RFC 3986: all but unreserved characters, in upper-case hex.
std::string percent_encoded(std::string_view text);

}  // namespace fleetadm::registration::aws
