// What relying parties learn about the issuer of service-account tokens: the OpenID configuration and its keys (RFC 8414, RFC
// 7517; docs/reference/kubernetes-api.md#discovery).
#pragma once

#include <optional>
#include <string_view>

#include "core/sandbox/auth/tokens.h"
#include "core/serve/http/message.h"

namespace fleetadm::sandbox {

/// The document of a path; nullopt where the path is another.
std::optional<serve::HttpResponse> answer_issuer(const TokenSigner& signer, const serve::HttpRequest& request,
                                                 std::string_view path);

}  // namespace fleetadm::sandbox
