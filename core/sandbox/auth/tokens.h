// Service-account tokens: JWTs signed by the cluster's own key (docs/reference/kubernetes-access.md#authentication).
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"
#include "kubeclient/pki/openssl.h"

namespace fleetadm::sandbox {

inline constexpr std::string_view kIssuer = "https://kubernetes.default.svc.cluster.local";

class TokenSigner {
 public:
  /// `key`: an ECDSA P-256 private key, PEM. It is read once: that takes longer than to check a signature.
  explicit TokenSigner(std::string_view key) : key_(pki::read_private_key(key)) {}
  Result<std::string> sign(const Json& claims) const;
  /// The claims of a token with a good signature that is valid now; kAuth otherwise.
  Result<std::shared_ptr<const Json>> verify(std::string_view token, Instant now) const;
  /// The public half as a JSON Web Key (RFC 7517); its kid is in the header of every token.
  Result<Json> public_key() const;

 private:
  bool signature_holds(std::string_view token, std::string_view signature) const;
  Result<Json> claims_of(std::string_view token) const;

  Result<pki::KeyPtr> key_;
  // Claims of tokens whose signature was checked, by the tokens' digests: a program sends its own with each request.
  static constexpr std::size_t kMaxChecked = 64;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const Json>> checked_;
};

std::int64_t unix_seconds(Instant at);
Result<std::string> base64url_decode(std::string_view text);

}  // namespace fleetadm::sandbox
