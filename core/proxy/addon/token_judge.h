// As whom a bearer token acts at a member, where nobody but the agent asks (docs/reference/cluster-proxy.md#who-acts).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/proxy/gateway/answer_cache.h"
#include "core/proxy/rules/caller.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::proxy {

/// I/O thread only.
class TokenJudge {
 public:
  using Done = std::function<void(const Result<Actor>&)>;

  /// `hub`: none where tokens of the hub do not count.
  TokenJudge(serve::HttpRuntime& runtime, std::optional<kube::Client> hub, kube::Client member, std::shared_ptr<Clock> clock);

  /// The hub is asked first, and the member only about a token that is not the hub's: it sees none of the hub's. A user of the
  /// hub acts by the name that members know it by, a token of the member goes there as it is. 401 for a token that is good for
  /// neither, 403 for a user that is reserved, 503 where one does not answer.
  void judge(const std::string& token, Done done);

 private:
  struct Verdict {
    std::optional<Actor> actor;  // none: nobody
  };
  using Verdicts = AnswerCache<Verdict>;

  static Result<Verdicts::Answer> ask(const std::optional<kube::Client>& hub, const kube::Client& member, Instant now,
                                      const std::string& token);

  std::optional<kube::Client> hub_;
  kube::Client member_;
  std::shared_ptr<Clock> clock_;
  std::shared_ptr<Verdicts> verdicts_;  // by the token's SHA-256
};

}  // namespace fleetadm::proxy
