// Who a request is from (docs/reference/kubernetes-access.md#authentication,
// docs/reference/kubernetes-access.md#impersonation).
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "core/sandbox/auth/tokens.h"
#include "core/sandbox/engine/engine.h"

namespace fleetadm::sandbox {

class Authenticator {
 public:
  Authenticator(const Engine& engine, const TokenSigner& signer) : engine_(engine), signer_(signer) {}

  /// Client certificate, then bearer token, then anonymous; 401 for credentials that are no good.
  ApiResult<serve::User> authenticate(const serve::HttpRequest& request) const;
  /// A service account's or a bootstrap token's user; nullopt: no such token.
  std::optional<serve::User> user_of_token(std::string_view token, std::vector<std::string>* audiences = nullptr) const;

 private:
  std::optional<serve::User> service_account(std::string_view token, std::vector<std::string>* audiences) const;
  std::optional<serve::User> bootstrap(std::string_view token) const;
  /// Whether the store has this very object.
  bool alive(const std::string& storage, const std::string& ns, const std::string& name, const std::string& uid) const;

  struct Read {
    std::int64_t revision = 0;
    std::string uid;
  };
  static constexpr std::size_t kMaxRead = 64;

  const Engine& engine_;
  const TokenSigner& signer_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Read> read_;  // the objects that tokens are bound to, as they were read last
};

std::vector<std::string> service_account_groups(const std::string& ns);

}  // namespace fleetadm::sandbox
