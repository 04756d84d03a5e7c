#include "core/proxy/member/tunnel_requests.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/proxy/hop/error_answer.h"
#include "core/proxy/hop/headers.h"
#include "core/proxy/member/switched_body.h"

namespace fleetadm::proxy {
namespace {

constexpr std::string_view kAsked = "fleetadm-upgrade";
constexpr std::string_view kSwitched = "fleetadm-switched";

std::string take_header(serve::Headers& headers, std::string_view name) {
  std::string out;
  const auto at = std::ranges::find(headers, name, &std::pair<std::string, std::string>::first);
  if (at != headers.end()) out = std::move(at->second);
  std::erase_if(headers, [&](const auto& header) { return header.first == name; });
  return out;
}

/// What is refused before it gets to the API server, also for a credential that is no good there, is the agent's.
std::string_view hop_of(const Error& error) {
  const bool refused = error.category == Category::kAuth || error.category == Category::kInvalid;
  return refused ? hop_names::kAgent : hop_names::kMember;
}

/// The 101 of an API server as HTTP/2 can say it.
serve::HttpResponse switched_answer(serve::HttpResponse answer, std::shared_ptr<serve::BodyReader> said) {
  const std::string protocol = take_header(answer.headers, "upgrade");
  drop_hop_headers(answer.headers);
  serve::HttpResponse out;
  out.headers = std::move(answer.headers);
  out.headers.emplace_back(kSwitched, protocol);
  out.stream = join_switched(std::move(answer.upgrade), std::move(said));
  return out;
}

}  // namespace

serve::HttpHandler answer_tunnel(std::shared_ptr<Hop> member) {
  return [member = std::move(member)](serve::HttpRequest request, serve::Reply reply) {
    std::string protocol = take_header(request.headers, kAsked);
    std::shared_ptr<serve::BodyReader> said;
    if (!protocol.empty()) {
      drop_hop_headers(request.headers);
      request.headers.emplace_back("connection", "Upgrade");
      request.headers.emplace_back("upgrade", std::move(protocol));
      said = std::exchange(request.content, nullptr);
    }
    member->send(std::move(request), [reply = std::move(reply), said](Result<serve::HttpResponse> answer) {
      if (!answer) return reply(error_answer(answer.error(), hop_of(answer.error())));
      if (answer->upgrade) return reply(switched_answer(std::move(*answer), said));
      reply(std::move(*answer));
    });
  };
}

}  // namespace fleetadm::proxy
