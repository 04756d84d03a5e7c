#include "core/proxy/rules/routes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/proxy/rules/percent.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/names.h"

namespace fleetadm::proxy {
namespace {

constexpr std::array<std::pair<std::string_view, PathForm>, 3> kPrefixes = {{
    {"/clusters/", PathForm::kClusters},
    {"/apis/cluster.core.oam.dev/v1alpha1/clustergateways/", PathForm::kClusterGateway},
    {"/apis/cluster.karmada.io/v1alpha1/clusters/", PathForm::kKarmada},
}};
constexpr std::string_view kProxy = "/proxy";
constexpr std::size_t kLongestPortName = 15;

tl::unexpected<Error> bad(std::string message) {
  return fail({.code = 400, .category = Category::kInvalid, .message = std::move(message), .reason = "BadRequest"});
}

tl::unexpected<Error> no_route() {
  return fail({.code = 404,
               .category = Category::kNotFound,
               .message = "the path names no cluster; the gateway serves /clusters/NAME/proxy/PATH",
               .reason = "NotFound"});
}

bool has_space_or_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; });
}

/// Splits off what stands before the next slash, and that slash.
std::string_view take_segment(std::string_view& rest) {
  const auto slash = std::min(rest.find('/'), rest.size());
  const auto segment = rest.substr(0, slash);
  rest.remove_prefix(std::min(slash + 1, rest.size()));
  return segment;
}

bool has_dot_segment(std::string_view decoded) {
  while (!decoded.empty()) {
    const auto segment = take_segment(decoded);
    if (segment == "." || segment == "..") return true;
  }
  return false;
}

Status check_target(std::string_view path, std::string_view query) {
  if (!path.starts_with('/')) return bad("the request target is no path");
  if (has_space_or_control(path) || has_space_or_control(query) || path.find('#') != std::string_view::npos)
    return bad("the request target has spaces, control characters or a fragment");
  const auto decoded = percent_decoded(path);
  if (!decoded) return bad("the path has a broken escape");
  if (decoded->find('\0') != std::string::npos) return bad("the path has an escaped NUL");
  if (has_dot_segment(*decoded)) return bad("the path has \".\" or \"..\" segments");
  return {};
}

bool is_port(std::string_view text) {
  if (text.empty()) return false;
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number > 0 && number <= 65535 && text.front() != '0';
  return text.size() <= kLongestPortName && is_dns_label(text) && std::ranges::any_of(text, [](char c) { return !is_digit(c); });
}

/// "[protocol:]name:port".
std::optional<ServiceTarget> service_of(std::string_view text) {
  ServiceTarget out;
  auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  out.port = text.substr(colon + 1);
  text = text.substr(0, colon);
  colon = text.find(':');
  out.protocol = colon == std::string_view::npos ? "https" : text.substr(0, colon);
  out.name = colon == std::string_view::npos ? text : text.substr(colon + 1);
  const bool sound = (out.protocol == "http" || out.protocol == "https") && is_dns_label(out.name) && is_port(out.port);
  return sound ? std::optional(std::move(out)) : std::nullopt;
}

/// The service form becomes the proxy subresource of the Service, so that the member's own rules judge the caller.
Status read_service(Route& route) {
  std::string_view rest = std::string_view(route.path).substr(1);
  for (const std::string_view expected : {"api", "v1", "namespaces"}) {
    if (take_segment(rest) != expected) return {};
  }
  const auto ns = take_segment(rest);
  if (take_segment(rest) != "services") return {};
  const auto target = take_segment(rest);
  const std::string_view behind = rest;
  if (take_segment(rest) != "proxy-service" || behind.find('/') == std::string_view::npos) return {};
  if (!is_dns_label(ns)) return bad("the path names no namespace");
  auto service = service_of(percent_decoded(target).value_or(""));
  if (!service) return bad("the path names no service: [http:|https:]NAME:PORT is expected");
  service->ns = ns;
  std::string path = "/api/v1/namespaces/" + service->ns + "/services/" + service->protocol + ":" + service->name + ":" +
                     service->port + "/proxy/";
  path.append(rest);
  route.path = std::move(path);
  route.service = std::move(*service);
  return {};
}

Result<Route> route_to(std::string_view cluster, std::string_view path, PathForm form) {
  if (!is_dns_subdomain(cluster)) return bad("the path has a cluster name that is no DNS name");
  if (path.starts_with("//")) return bad("the path has an empty segment");
  Route out{.cluster = std::string(cluster), .path = path.empty() ? "/" : std::string(path), .form = form};
  FLEETADM_CHECK(read_service(out));
  return out;
}

}  // namespace

Result<Route> parse_route(std::string_view path, std::string_view query) {
  FLEETADM_CHECK(check_target(path, query));
  if (path.starts_with("//")) return bad("the path has an empty segment");
  if (path.starts_with(kAnywayPrefix) && path.substr(kAnywayPrefix.size()).starts_with(kPrefixes.front().first)) {
    FLEETADM_TRY(Route route, parse_route(path.substr(kAnywayPrefix.size()), query));
    route.anyway = true;
    return route;
  }
  for (const auto& [prefix, form] : kPrefixes) {
    if (!path.starts_with(prefix)) continue;
    const auto rest = path.substr(prefix.size());
    const auto slash = rest.find('/');
    if (slash == std::string_view::npos) return no_route();
    const auto behind = rest.substr(slash);
    if (!behind.starts_with(kProxy)) return slash == 0 ? bad("the path has an empty segment") : no_route();
    const auto at_member = behind.substr(kProxy.size());
    if (!at_member.empty() && at_member.front() != '/') return no_route();
    return route_to(rest.substr(0, slash), at_member, form);
  }
  const auto rest = path.substr(1);
  const auto slash = rest.find('/');
  const auto first = rest.substr(0, slash);
  // A request for the gateway's own API, which has nothing but the forms above.
  if (slash == std::string_view::npos || first == "clusters" || first == "apis") return no_route();
  return route_to(first, rest.substr(slash), PathForm::kUserServer);
}

}  // namespace fleetadm::proxy
