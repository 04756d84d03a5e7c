#include "core/proxy/hop/request_head.h"

#include <algorithm>

#include "core/proxy/hop/headers.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/host_port.h"

namespace fleetadm::proxy {
namespace {

bool is_token(std::string_view text) {
  static constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return is_alnum(c) || kMarks.find(c) != std::string_view::npos; });
}

bool is_field_value(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c == '\t' || (c >= 0x20 && c != 0x7f); });
}

bool is_target_part(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c != 0x7f; });
}

tl::unexpected<Error> malformed(std::string message) {
  return fail({.code = 400, .category = Category::kInvalid, .message = std::move(message)});
}

Status check_request_line(const serve::HttpRequest& request) {
  if (!is_token(request.method)) return malformed("the request's method is not a token");
  if (!request.path.starts_with('/')) return malformed("the request's path does not begin with \"/\"");
  if (!is_target_part(request.path) || !is_target_part(request.query)) {
    return malformed("the request's path or query has spaces or control characters; they must be percent-encoded");
  }
  return {};
}

void add_field(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

Result<ServerAddress> parse_server(std::string_view url) {
  const auto wrong = [&] { return fail(Category::kUsage, "\"" + std::string(url) + "\" is not the URL of a server"); };
  ServerAddress out;
  std::string_view rest = url;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    out.tls = false;
  } else {
    return wrong();
  }
  const auto slash = std::min(rest.find('/'), rest.size());
  out.authority = rest.substr(0, slash);
  out.prefix = rest.substr(slash);
  while (out.prefix.ends_with('/')) out.prefix.pop_back();
  const auto parts = split_host_port(out.authority);
  if (!parts || parts->host.empty() || !is_target_part(rest) || out.authority.find_first_of("@?#") != std::string::npos ||
      out.prefix.find_first_of("?#") != std::string::npos) {
    return wrong();
  }
  out.host = parts->host;
  out.port = parts->port.empty() ? (out.tls ? "443" : "80") : parts->port;
  if (!parse_port(out.port)) return wrong();
  return out;
}

Result<std::string> write_request_head(const serve::HttpRequest& request, const ServerAddress& address,
                                       const BodyFraming& framing, std::string_view upgrade, std::string_view token) {
  FLEETADM_CHECK(check_request_line(request));
  serve::Headers headers = request.headers;
  drop_hop_headers(headers);
  std::string head;
  head.reserve(1024);
  head.append(request.method).append(" ").append(address.prefix).append(request.path);
  if (!request.query.empty()) head.append("?").append(request.query);
  head.append(" HTTP/1.1\r\n");
  add_field(head, "host", address.authority);
  for (const auto& [name, value] : headers) {
    if (name == "host" || name == "expect") continue;
    if (!is_token(name) || !is_field_value(value)) return malformed("a header of the request is malformed");
    add_field(head, name, value);
  }
  if (!token.empty()) {
    if (!is_field_value(token)) return fail(Category::kAuth, "the token has control characters");
    head.append("authorization: Bearer ").append(token).append("\r\n");
  }
  if (!upgrade.empty()) {
    if (!is_field_value(upgrade)) return malformed("the request's upgrade header is malformed");
    add_field(head, "connection", "Upgrade");
    add_field(head, "upgrade", upgrade);
  }
  if (framing.chunked) {
    add_field(head, "transfer-encoding", "chunked");
  } else if (framing.length) {
    add_field(head, "content-length", std::to_string(*framing.length));
  }
  head.append("\r\n");
  return head;
}

}  // namespace fleetadm::proxy
