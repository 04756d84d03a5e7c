#include "core/proxy/gateway/authenticator.h"

#include <algorithm>
#include <utility>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/token_claims.h"

namespace fleetadm::proxy {
namespace {

constexpr Duration kKept = std::chrono::seconds(10);
constexpr Duration kKeptRefusal = std::chrono::seconds(3);
constexpr std::size_t kMostTokens = 8192;

std::shared_ptr<const Caller> certified(const serve::Peer& peer) {
  auto caller = std::make_shared<Caller>();
  caller->name = peer.common_name;
  caller->groups = peer.organizations;
  caller->groups.emplace_back("system:authenticated");
  return caller;
}

/// For how long the answer to a review holds: never longer than the token itself.
Duration kept_for(const ReviewedToken& reviewed, const std::optional<JwtClaims>& claims, Instant now) {
  if (!reviewed.caller) return kKeptRefusal;
  return claims && claims->expires ? std::min(kKept, Duration(*claims->expires - now)) : kKept;
}

}  // namespace

Authenticator::Authenticator(serve::HttpRuntime& runtime, kube::Client hub, std::shared_ptr<Clock> clock)
    : hub_(std::move(hub)),
      clock_(std::move(clock)),
      reviewed_(std::make_shared<AnswerCache<ReviewedToken>>(runtime, clock_, kMostTokens)) {}

void Authenticator::authenticate(const Credentials& credentials, Done done) {
  if (credentials.certificate) return done(certified(*credentials.certificate));
  auto question = [hub = hub_, clock = clock_, token = credentials.token]() -> Result<AnswerCache<ReviewedToken>::Answer> {
    const auto claims = jwt_claims(token);
    // What the token says of itself only decides which question is asked: a token that is for the gateway is good here and
    // nowhere else, any other has to be one for the hub's API server.
    const bool ours = claims && std::ranges::find(claims->audiences, kGatewayAudience) != claims->audiences.end();
    FLEETADM_TRY(auto reviewed, review_token(hub, token, ours ? kGatewayAudience : std::string_view()));
    const Duration keep = kept_for(reviewed, claims, clock->now());
    return AnswerCache<ReviewedToken>::Answer{std::make_shared<const ReviewedToken>(std::move(reviewed)), keep};
  };
  reviewed_->get(sha256_hex(credentials.token), std::move(question), [done = std::move(done)](const auto& answer) {
    if (!answer) return done(fail(answer.error()));
    if ((*answer)->caller) return done(std::shared_ptr<const Caller>(*answer, (*answer)->caller.get()));
    done(fail({.code = 401,
               .category = Category::kAuth,
               .message = "the bearer token is not valid on the hub",
               .reason = "Unauthorized"}));
  });
}

}  // namespace fleetadm::proxy
