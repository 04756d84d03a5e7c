#include "core/proxy/addon/token_judge.h"

#include <algorithm>
#include <utility>

#include "core/proxy/gateway/reviews.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/token_claims.h"

namespace fleetadm::proxy {
namespace {

constexpr Duration kKeepVerdict = std::chrono::seconds(10);
constexpr Duration kKeepNobody = std::chrono::seconds(3);
constexpr std::size_t kMostVerdicts = 1024;

/// Never longer than the token lives.
Duration keep_verdict(const std::string& token, Instant now) {
  const auto claims = jwt_claims(token);
  return claims && claims->expires ? std::min(kKeepVerdict, Duration(*claims->expires - now)) : kKeepVerdict;
}

}  // namespace

TokenJudge::TokenJudge(serve::HttpRuntime& runtime, std::optional<kube::Client> hub, kube::Client member,
                       std::shared_ptr<Clock> clock)
    : hub_(std::move(hub)),
      member_(std::move(member)),
      clock_(std::move(clock)),
      verdicts_(std::make_shared<Verdicts>(runtime, clock_, kMostVerdicts)) {}

Result<TokenJudge::Verdicts::Answer> TokenJudge::ask(const std::optional<kube::Client>& hub, const kube::Client& member,
                                                     Instant now, const std::string& token) {
  auto verdict = std::make_shared<Verdict>();
  if (hub) {
    FLEETADM_TRY(const ReviewedToken on_hub, review_token(*hub, token, {}));
    if (on_hub.caller) {
      FLEETADM_TRY(verdict->actor, caller_at_member(*on_hub.caller));
    }
  }
  if (!verdict->actor) {
    auto at_member = review_token(member, token, {});
    if (!at_member) {
      Error error = at_member.error();
      error.message = "the cluster's API server did not answer a TokenReview";
      return fail(std::move(error));
    }
    if (at_member->caller) verdict->actor = MemberToken{token};
  }
  const Duration keep = verdict->actor ? keep_verdict(token, now) : kKeepNobody;
  return Verdicts::Answer{std::move(verdict), keep};
}

void TokenJudge::judge(const std::string& token, Done done) {
  auto question = [hub = hub_, member = member_, clock = clock_, token] { return ask(hub, member, clock->now(), token); };
  verdicts_->get(sha256_hex(token), std::move(question), [done = std::move(done)](const auto& verdict) {
    if (!verdict) return done(fail(verdict.error()));
    if ((*verdict)->actor) return done(*(*verdict)->actor);
    done(fail({.code = 401,
               .category = Category::kAuth,
               .message = "the bearer token is valid neither on the hub nor at the cluster",
               .reason = "Unauthorized"}));
  });
}

}  // namespace fleetadm::proxy
