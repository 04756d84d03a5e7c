// Who a request is from, as the hub knows them (docs/reference/gateway.md#authentication).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/proxy/gateway/answer_cache.h"
#include "core/proxy/gateway/credentials.h"
#include "core/proxy/gateway/reviews.h"

namespace fleetadm::proxy {

/// Of tokens that are for the gateway alone.
inline constexpr std::string_view kGatewayAudience = "fleetadm-gateway";

/// I/O thread only.
class Authenticator {
 public:
  using Done = std::function<void(const Result<std::shared_ptr<const Caller>>&)>;

  Authenticator(serve::HttpRuntime& runtime, kube::Client hub, std::shared_ptr<Clock> clock);

  /// 401 for a token that is good for nobody; 503 where the hub does not tell. Answers at once for certificates and for tokens
  /// that were reviewed a moment ago.
  void authenticate(const Credentials& credentials, Done done);

 private:
  kube::Client hub_;
  std::shared_ptr<Clock> clock_;
  std::shared_ptr<AnswerCache<ReviewedToken>> reviewed_;  // by the token's SHA-256
};

}  // namespace fleetadm::proxy
