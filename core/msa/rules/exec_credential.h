// What a credential plugin is asked and answers (client.authentication.k8s.io), with the token of a Secret
// (docs/reference/managed-serviceaccount.md#clusterprofiles). Pure.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/json.h"
#include "kubeclient/base/token_claims.h"

namespace fleetadm::msa {

inline constexpr std::string_view kExecInfoVariable = "KUBERNETES_EXEC_INFO";
inline constexpr std::string_view kExecCredentialVersion = "client.authentication.k8s.io/v1";

/// Who asks for a credential, as $KUBERNETES_EXEC_INFO says it.
struct ExecRequest {
  std::string api_version;  // which the answer has to have, too
  std::string cluster;      // spec.cluster.config.clusterName
  std::string server;       // spec.cluster.server; may be empty
};
/// kUsage, with what to change in the plugin's configuration, where it names no cluster.
Result<ExecRequest> exec_request(std::string_view exec_info);

struct UsableToken {
  std::string text;
  TokenClaims claims;
};
/// kNotFound with "it …" or "what Secret …": the Secret holds no token that an API server would take.
Result<UsableToken> usable_token(const Json& secret, Instant now);

Json exec_credential(std::string_view api_version, const std::string& token, Instant expires);

}  // namespace fleetadm::msa
