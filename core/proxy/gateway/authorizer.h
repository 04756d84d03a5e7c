// What a caller may do, by the hub's own rules: send requests to a cluster (docs/reference/gateway.md#authorization), act as
// others.
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

/// What the hub is asked about such a request: clusters/proxy of proxy.open-cluster-management.io.
serve::Attributes use_of_cluster(std::string_view cluster, std::string_view verb);

/// I/O thread only.
class Authorizer {
 public:
  using Done = std::function<void(const Status&)>;

  Authorizer(serve::HttpRuntime& runtime, kube::Client hub, std::shared_ptr<Clock> clock);

  /// 403 where the hub says no; 503 where it does not tell. Answers at once for what was asked a moment ago.
  void authorize(const std::shared_ptr<const Caller>& caller, const serve::Attributes& what, Done done);

 private:
  kube::Client hub_;
  std::shared_ptr<AnswerCache<bool>> verdicts_;  // by caller and question
};

}  // namespace fleetadm::proxy
