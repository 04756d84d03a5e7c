#include "core/controller/health_server.h"

#include <exception>
#include <utility>

#include "core/serve/http/listen_address.h"

namespace fleetadm::controller {
namespace {

Result<serve::ListenOptions> listen_options(const std::string& address) {
  FLEETADM_TRY(serve::ListenAddress where, serve::parse_listen_address(address));
  serve::ListenOptions options;
  options.address = std::move(where.host);
  options.port = where.port;
  options.tls = false;
  options.evicts = true;
  options.limits.body = 0;
  options.limits.bodies = 0;
  options.limits.header = 8 * 1024;
  options.limits.request = std::chrono::seconds(3);
  options.limits.idle = std::chrono::seconds(3);
  options.limits.stuck = std::chrono::seconds(10);
  options.limits.connections = 64;
  return options;
}

serve::HttpResponse answer(const serve::HttpRequest& request, const HealthServer::Handler& handler) {
  if (request.method != "GET" && request.method != "HEAD") return serve::answer_text(405, "only GET\n");
  if (request.body_too_large) return serve::answer_text(413, "no body is expected\n");
  try {
    Manager::Page page = handler({request.path, request.peer->loopback});
    return serve::answer_text(page.status, std::move(page.body), std::move(page.content_type));
  } catch (const std::exception&) {
    return serve::answer_text(500, "internal error\n");
  }
}

}  // namespace

Result<std::unique_ptr<HealthServer>> HealthServer::start(const std::string& address, Handler handler) {
  FLEETADM_TRY(const auto options, listen_options(address));
  try {
    std::unique_ptr<HealthServer> server(new HealthServer);
    auto listener = serve::HttpListener::start(
        server->runtime_, options,
        [handler = std::move(handler)](const serve::HttpRequest& request) { return answer(request, handler); });
    if (!listener) {
      const bool malformed = listener.error().category == Category::kUsage;
      return tl::unexpected(listener.error().with_hint(malformed ? "the host must be an IP address or localhost"
                                                                 : "choose another --health-address"));
    }
    server->listener_ = std::move(*listener);
    return server;
  } catch (const std::exception& problem) {  // no thread
    return fail(Category::kUnavailable, "cannot start the health server on " + address + ": " + problem.what());
  }
}

}  // namespace fleetadm::controller
