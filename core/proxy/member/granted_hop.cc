#include "core/proxy/member/granted_hop.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/proxy/rules/caller.h"

namespace fleetadm::proxy {
namespace {

Status limit_request(serve::HttpRequest& request, const Impersonation& granted) {
  FLEETADM_TRY(Actor actor, read_actor(request.headers));
  auto* caller = std::get_if<Caller>(&actor);
  if (caller == nullptr) return {};
  FLEETADM_TRY(*caller, limit_caller(std::move(*caller), granted));
  std::erase_if(request.headers, [](const auto& header) { return is_actor_header(header.first); });
  write_actor(actor, request.headers);
  return {};
}

}  // namespace

void GrantedHop::send(serve::HttpRequest request, Done done) {
  if (const auto granted = granted_()) {
    if (const Status limited = limit_request(request, *granted); !limited) return done(fail(limited.error()));
  }
  next_->send(std::move(request), std::move(done));
}

}  // namespace fleetadm::proxy
