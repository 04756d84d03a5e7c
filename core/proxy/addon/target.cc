#include "core/proxy/addon/target.h"

#include <string_view>
#include <vector>

#include "core/proxy/rules/routes.h"

namespace fleetadm::proxy {
namespace {

/// A path of the gateway's, whose rules are those of any path to a member.
constexpr std::string_view kAnyMember = "/clusters/member/proxy";

tl::unexpected<Error> bad_target(std::string message) {
  return fail({.code = 400, .category = Category::kInvalid, .message = std::move(message), .reason = "BadRequest"});
}

Result<std::string> target_header(const serve::HttpRequest& request, std::string_view name) {
  const std::vector<std::string> values = request.all(name);
  if (values.size() != 1 || values.front().empty())
    return bad_target("the request does not say which service it is for: one header " + std::string(name) + " is expected");
  return values.front();
}

}  // namespace

Result<std::string> target_path(const serve::HttpRequest& request) {
  FLEETADM_TRY(const std::string protocol, target_header(request, "cluster-proxy-proto"));
  FLEETADM_TRY(const std::string ns, target_header(request, "cluster-proxy-namespace"));
  FLEETADM_TRY(const std::string service, target_header(request, "cluster-proxy-service"));
  FLEETADM_TRY(const std::string port, target_header(request, "cluster-proxy-port"));
  std::string path(kAnyMember);
  const bool to_api_server = ns == "default" && service == "kubernetes";
  if (!to_api_server)
    path += "/api/v1/namespaces/" + ns + "/services/" + protocol + ":" + service + ":" + port + "/proxy-service";
  FLEETADM_TRY(Route route, parse_route(path + request.path, request.query));
  const bool as_meant = to_api_server || (route.service && route.service->ns == ns && route.service->name == service &&
                                          route.service->port == port && route.service->protocol == protocol);
  if (!as_meant) return bad_target("the request names no service: its headers hold something else");
  return std::move(route.path);
}

}  // namespace fleetadm::proxy
