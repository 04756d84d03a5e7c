#include "core/proxy/konnectivity/front_port.h"

#include <memory>
#include <utility>

#include "kubeclient/base/log.h"

namespace fleetadm::konnectivity {

void handle_front_request(const FrontPortOptions& options, serve::HttpRequest request, const serve::Reply& reply) {
  if (request.method != "POST" || request.path != "/ProxyService/Proxy" || !request.content)
    return reply(serve::answer_text(404, "not found"));
  if (const Status admitted = options.admits(request); !admitted) {
    log::warn("konnectivity", "a client of the front end is refused: " + admitted.error().message);
    return reply(serve::answer_text(403, "the certificate is no client's"));
  }
  serve::HttpResponse answer;
  answer.headers = {{"content-type", "application/grpc"}};
  answer.stream = std::make_shared<FrontLine>(std::move(request.content), options.dial);
  reply(std::move(answer));
}

}  // namespace fleetadm::konnectivity
