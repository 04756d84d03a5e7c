#include "core/sandbox/auth/authenticate.h"

#include <algorithm>
#include <openssl/crypto.h>

#include "core/sandbox/auth/account_secrets.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox {
namespace {

constexpr std::string_view kAuthenticated = "system:authenticated";

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string secret_field(const Json& secret, std::string_view key) {
  const auto decoded = base64_decode(str(secret, {"data", key}));
  return decoded ? *decoded : std::string();
}

tl::unexpected<ApiError> unauthorized() { return api_fail(401, "Unauthorized", "Unauthorized"); }

}  // namespace

std::vector<std::string> service_account_groups(const std::string& ns) {
  return {"system:serviceaccounts", "system:serviceaccounts:" + ns};
}

ApiResult<serve::User> Authenticator::authenticate(const serve::HttpRequest& request) const {
  bool refused = false;
  if (request.peer && request.peer->certificate != serve::Peer::Certificate::kNone) {
    const serve::Peer& peer = *request.peer;
    if (peer.certificate == serve::Peer::Certificate::kValid && !peer.common_name.empty()) {
      serve::User user;
      user.name = peer.common_name;
      user.groups = peer.organizations;
      user.groups.emplace_back(kAuthenticated);
      user.extra["authentication.kubernetes.io/credential-id"] = {"X509SHA256=" + peer.sha256};
      return user;
    }
    refused = true;
  }
  const auto header = request.header("authorization");
  if (header.size() > 7 && (header.starts_with("Bearer ") || header.starts_with("bearer "))) {
    if (auto user = user_of_token(header.substr(7))) {
      user->groups.emplace_back(kAuthenticated);
      return *user;
    }
    refused = true;
  }
  if (refused) return unauthorized();
  serve::User anonymous;
  anonymous.name = "system:anonymous";
  anonymous.groups = {"system:unauthenticated"};
  return anonymous;
}

std::optional<serve::User> Authenticator::user_of_token(std::string_view token, std::vector<std::string>* audiences) const {
  while (!token.empty() && token.front() == ' ') token.remove_prefix(1);
  if (auto user = service_account(token, audiences)) return user;
  return bootstrap(token);
}

std::optional<serve::User> Authenticator::service_account(std::string_view token, std::vector<std::string>* audiences) const {
  const auto verified = signer_.verify(token, engine_.clock().now());
  if (!verified) return std::nullopt;
  const Json& claims = **verified;
  if (auto user = user_of_account_secret(engine_, claims, token)) return user;
  const auto for_whom = string_list_at(claims, {"aud"});
  if (audiences != nullptr) {
    *audiences = for_whom;
  } else if (std::find(for_whom.begin(), for_whom.end(), kIssuer) == for_whom.end()) {
    return std::nullopt;
  }
  const Json& own = object_at(claims, {"kubernetes.io"});
  const auto ns = str(own, {"namespace"});
  const auto name = str(own, {"serviceaccount", "name"});
  // Tokens end with their account, and with what they are bound to.
  if (!alive("/serviceaccounts", ns, name, str(own, {"serviceaccount", "uid"}))) return std::nullopt;
  serve::User user;
  user.name = "system:serviceaccount:" + ns + ":" + name;
  user.uid = str(own, {"serviceaccount", "uid"});
  user.groups = service_account_groups(ns);
  user.extra["authentication.kubernetes.io/credential-id"] = {"JTI=" + str(claims, {"jti"})};
  if (const auto pod = str(own, {"pod", "name"}); !pod.empty()) {
    if (!alive("/pods", ns, pod, str(own, {"pod", "uid"}))) return std::nullopt;
    user.extra["authentication.kubernetes.io/pod-name"] = {pod};
    user.extra["authentication.kubernetes.io/pod-uid"] = {str(own, {"pod", "uid"})};
  }
  if (const auto node = str(own, {"node", "name"}); !node.empty()) {
    // Of a pod's token the node is only told of; where the pod is, the token is good.
    const auto uid = str(own, {"node", "uid"});
    if (find(own, {"pod"}) == nullptr && !alive("/nodes", "", node, uid)) return std::nullopt;
    user.extra["authentication.kubernetes.io/node-name"] = {node};
    if (!uid.empty()) user.extra["authentication.kubernetes.io/node-uid"] = {uid};
  }
  if (const auto secret = str(own, {"secret", "name"});
      !secret.empty() && !alive("/secrets", ns, secret, str(own, {"secret", "uid"}))) {
    return std::nullopt;
  }
  return user;
}

bool Authenticator::alive(const std::string& storage, const std::string& ns, const std::string& name,
                          const std::string& uid) const {
  const auto stored = engine_.store().get(storage, ns, name);
  if (!stored) return false;
  const auto key = storage + "\n" + ns + "\n" + name;
  {
    const std::lock_guard lock(mutex_);
    const auto known = read_.find(key);
    if (known != read_.end() && known->second.revision == stored->revision) return known->second.uid == uid;
  }
  const auto found = uid_of(stored->json());
  const std::lock_guard lock(mutex_);
  if (read_.size() >= kMaxRead) read_.clear();
  read_[key] = {stored->revision, found};
  return found == uid;
}

/// "abcdef.0123456789abcdef" of a Secret bootstrap-token-abcdef in kube-system.
std::optional<serve::User> Authenticator::bootstrap(std::string_view token) const {
  if (token.size() != 23 || token[6] != '.') return std::nullopt;
  const std::string id(token.substr(0, 6));
  const auto stored = engine_.store().get("/secrets", "kube-system", "bootstrap-token-" + id);
  if (!stored) return std::nullopt;
  const Json secret = stored->json();
  if (str(secret, {"type"}) != "bootstrap.kubernetes.io/token" || is_deleting(secret)) return std::nullopt;
  if (secret_field(secret, "token-id") != id || !same_secret(secret_field(secret, "token-secret"), token.substr(7)))
    return std::nullopt;
  if (secret_field(secret, "usage-bootstrap-authentication") != "true") return std::nullopt;
  if (const auto until = secret_field(secret, "expiration"); !until.empty()) {
    const auto at = parse_time(until);
    if (!at || *at <= engine_.clock().now()) return std::nullopt;
  }
  serve::User user;
  user.name = "system:bootstrap:" + id;
  user.groups = {"system:bootstrappers"};
  auto more = secret_field(secret, "auth-extra-groups");
  while (!more.empty()) {
    const auto comma = more.find(',');
    if (const auto group = more.substr(0, comma); group.starts_with("system:bootstrappers:")) user.groups.push_back(group);
    more = comma == std::string::npos ? std::string() : more.substr(comma + 1);
  }
  return user;
}

}  // namespace fleetadm::sandbox
