#include "core/proxy/addon/service_proxy.h"

#include <algorithm>
#include <utility>

#include "core/proxy/addon/target.h"
#include "core/proxy/gateway/credentials.h"
#include "core/proxy/hop/error_answer.h"
#include "core/proxy/hop/passing.h"

namespace fleetadm::proxy {

void ServiceProxy::handle(serve::HttpRequest request, serve::Reply reply) {
  const auto refuse = [&](const Error& error) {
    request.content = nullptr;
    reply(error_answer(error));
  };
  auto path = target_path(request);
  if (!path) return refuse(path.error());
  request.path = std::move(*path);
  const bool impersonates =
      std::ranges::any_of(request.headers, [](const auto& header) { return header.first.starts_with("impersonate-"); });
  if (impersonates)
    return refuse({.code = 403, .category = Category::kAuth, .message = "impersonation headers are not taken here"});
  auto credentials = take_credentials(request);
  if (!credentials) return refuse(credentials.error());
  const auto kept = std::make_shared<serve::HttpRequest>(std::move(request));
  judge_->judge(credentials->token, [self = shared_from_this(), kept, reply = std::move(reply)](const Result<Actor>& actor) {
    if (actor) return self->send(std::move(*kept), *actor, reply);
    kept->content = nullptr;
    reply(error_answer(actor.error()));
  });
}

void ServiceProxy::send(serve::HttpRequest request, const Actor& actor, serve::Reply reply) {
  const bool asked_upgrade = !passing_upgrade(request.headers).empty();
  const bool head_only = request.method == "HEAD";
  clean_request(request);
  write_actor(actor, request.headers);
  request.peer = nullptr;
  member_->send(std::move(request), [reply = std::move(reply), asked_upgrade, head_only](Result<serve::HttpResponse> answer) {
    if (!answer) return reply(error_answer(answer.error()));
    if (clean_answer(*answer, asked_upgrade, head_only)) return reply(std::move(*answer));
    reply(error_answer(
        {.code = 502, .category = Category::kUnavailable, .message = "the cluster's API server switches protocols unasked"}));
  });
}

}  // namespace fleetadm::proxy
