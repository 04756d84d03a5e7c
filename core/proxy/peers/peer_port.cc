#include "core/proxy/peers/peer_port.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/proxy/hop/error_answer.h"
#include "core/proxy/peers/peer_identity.h"
#include "kubeclient/base/names.h"

namespace fleetadm::proxy {
namespace {

bool is_replica(const serve::HttpRequest& request) {
  const auto& peer = request.peer;
  return peer && peer->certificate == serve::Peer::Certificate::kValid && peer->common_name == kPeerUser &&
         peer->organizations == std::vector<std::string>{std::string(kPeerOrganization)};
}

Error refused_peer(int code, Category category, std::string message) {
  return {.code = code, .category = category, .message = std::move(message)};
}

std::string take_one(serve::Headers& headers, std::string_view name) {
  std::string out;
  std::erase_if(headers, [&](auto& header) {
    if (header.first != name) return false;
    out = std::move(header.second);
    return true;
  });
  return out;
}

/// HTTP/1.1 has no body there, whatever HTTP/2 said.
void drop_body_of_none(serve::HttpResponse& answer, bool head_only) {
  if (answer.status == 101 || (!head_only && answer.status != 204 && answer.status != 304)) return;
  answer.stream = nullptr;
  answer.body.clear();
}

}  // namespace

serve::HttpHandler answer_peers(std::function<std::shared_ptr<Hop>(std::string_view cluster)> tunnel) {
  return [tunnel = std::move(tunnel)](serve::HttpRequest request, serve::Reply reply) {
    if (!is_replica(request))
      return reply(error_answer(refused_peer(401, Category::kAuth, "this port is for replicas of the gateway alone"),
                                hop_names::kGateway));
    const std::string cluster = take_one(request.headers, kPeerCluster);
    const std::string question = take_one(request.headers, kPeerQuestion);
    if (!is_dns_subdomain(cluster))
      return reply(error_answer(refused_peer(400, Category::kInvalid, "no cluster is named"), hop_names::kGateway));
    auto hop = tunnel(cluster);
    if (!question.empty()) return reply(serve::answer_text(hop ? 204 : 404, {}));
    if (!hop) {
      Error gone = refused_peer(503, Category::kUnavailable, "its tunnel is gone");
      gone.retry_after_seconds = 1;
      auto answer = error_answer(gone, hop_names::kTunnel);
      answer.headers.emplace_back(kPeerUnsent, "true");
      return reply(std::move(answer));
    }
    if (std::string token = take_one(request.headers, kPeerAuthorization); !token.empty())
      request.headers.emplace_back("authorization", std::move(token));
    request.peer = nullptr;
    const bool head_only = request.method == "HEAD";
    hop->send(std::move(request), [reply = std::move(reply), head_only](Result<serve::HttpResponse> came) {
      if (!came) return reply(error_answer(came.error(), hop_names::kTunnel));
      drop_body_of_none(*came, head_only);
      reply(std::move(*came));
    });
  };
}

serve::ListenOptions peer_listener(const std::string& address, int port, const pki::KeyPair& certificate, const std::string& ca) {
  serve::ListenOptions listen;
  listen.address = address;
  listen.port = port;
  listen.certificate = certificate;
  listen.client_ca = ca;
  listen.only_tls13 = true;
  listen.limits.connections = 10'000;
  listen.limits.upgrades = 10'000;
  listen.streams_body = [](const serve::HttpRequest&) { return true; };
  return listen;
}

}  // namespace fleetadm::proxy
