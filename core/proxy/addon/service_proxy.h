// What stands at the end of upstream's tunnel in the place of its service proxy: takes the requests of its user server, sees who
// they are from, and has them act at the member (docs/reference/cluster-proxy.md#requests).
#pragma once

#include <memory>
#include <string>

#include "core/proxy/addon/token_judge.h"
#include "core/proxy/hop/hop.h"
#include "core/serve/http/server.h"

namespace fleetadm::proxy {

/// I/O thread only.
class ServiceProxy : public std::enable_shared_from_this<ServiceProxy> {
 public:
  /// `member`: a MemberHop.
  ServiceProxy(std::shared_ptr<TokenJudge> judge, std::shared_ptr<Hop> member)
      : judge_(std::move(judge)), member_(std::move(member)) {}

  /// Bodies are streamed. 401 without a token, 403 for impersonation by the caller, 400 for what names no target.
  void handle(serve::HttpRequest request, serve::Reply reply);

 private:
  void send(serve::HttpRequest request, const Actor& actor, serve::Reply reply);

  std::shared_ptr<TokenJudge> judge_;
  std::shared_ptr<Hop> member_;
};

}  // namespace fleetadm::proxy
