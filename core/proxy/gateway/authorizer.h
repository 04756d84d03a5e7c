// Whether a caller may send a request to a cluster, by the hub's own rules (docs/reference/gateway.md#authorization).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/proxy/gateway/answer_cache.h"
#include "core/proxy/gateway/reviews.h"
#include "core/serve/http/message.h"

namespace fleetadm::proxy {

/// The verb of a request to a member. A request for an upgrade that names an object (exec, attach, port-forward) creates,
/// whatever its method: who may only read must not get a shell.
std::string verb_at_member(const serve::HttpRequest& head, std::string_view path);

/// I/O thread only.
class Authorizer {
 public:
  using Done = std::function<void(const Status&)>;

  Authorizer(serve::HttpRuntime& runtime, kube::Client hub, std::shared_ptr<Clock> clock);

  /// 403 where the hub says no; 503 where it does not tell. Answers at once for what was asked a moment ago.
  void authorize(const std::shared_ptr<const Caller>& caller, const std::string& cluster, const std::string& verb, Done done);

 private:
  kube::Client hub_;
  std::shared_ptr<AnswerCache<bool>> verdicts_;  // by caller, cluster and verb
};

}  // namespace fleetadm::proxy
