#include "core/msa/rules/exec_credential.h"

#include <algorithm>

#include "core/msa/rules/token_secret.h"

namespace fleetadm::msa {
namespace {

constexpr std::string_view kBetaVersion = "client.authentication.k8s.io/v1beta1";

tl::unexpected<Error> not_asked(const std::string& why, const std::string& hint) {
  return fail(Category::kUsage, std::string(kExecInfoVariable) + " " + why, hint);
}

/// Three parts of base64url, as the API server's are. Anything else is not handed to a shell.
bool looks_like_token(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

}  // namespace

Result<ExecRequest> exec_request(std::string_view exec_info) {
  if (exec_info.empty()) {
    return not_asked("is not set: this command is for the exec section of a client's configuration",
                     "to print a token, use fleetadm msa token");
  }
  const auto info = parse_json(exec_info);
  if (!info || !info->is_object() || str(*info, {"kind"}) != "ExecCredential")
    return not_asked("is not an ExecCredential", "the client that calls the plugin sets it");
  ExecRequest request;
  request.api_version = str(*info, {"apiVersion"});
  if (request.api_version != kExecCredentialVersion && request.api_version != kBetaVersion) {
    return not_asked("has apiVersion \"" + request.api_version + "\"",
                     "set apiVersion in the exec section to " + std::string(kExecCredentialVersion));
  }
  if (object_at(*info, {"spec", "cluster"}).empty())
    return not_asked("has no spec.cluster", "set provideClusterInfo: true in the exec section");
  request.server = str(*info, {"spec", "cluster", "server"});
  request.cluster = str(*info, {"spec", "cluster", "config", "clusterName"});
  if (request.cluster.empty()) {
    return not_asked("has no spec.cluster.config.clusterName",
                     "the ClusterProfile's access provider needs it in its extension client.authentication.k8s.io/exec");
  }
  return request;
}

Result<UsableToken> usable_token(const Json& secret, Instant now) {
  UsableToken token;
  token.text = token_in(secret);
  const auto claims = token_claims(token.text);
  if (!claims || !looks_like_token(token.text)) {
    return fail(Category::kNotFound,
                "what Secret " + namespace_of(secret) + "/" + name_of(secret) + " holds is not a token of a ServiceAccount");
  }
  if (claims->expires <= now) return fail(Category::kNotFound, "it expired at " + format_time(claims->expires));
  token.claims = *claims;
  return token;
}

Json exec_credential(std::string_view api_version, const std::string& token, Instant expires) {
  return {{"apiVersion", api_version},
          {"kind", "ExecCredential"},
          {"status", {{"token", token}, {"expirationTimestamp", format_time(expires)}}}};
}

}  // namespace fleetadm::msa
