#include "core/proxy/hop/outgoing_request.h"

#include <charconv>
#include <utility>

#include "core/proxy/hop/headers.h"

namespace fleetadm::proxy {
namespace {

std::optional<std::uint64_t> content_length(const serve::HttpRequest& request) {
  const auto text = request.header("content-length");
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return length;
}

bool has_body_by_method(std::string_view method) { return method == "POST" || method == "PUT" || method == "PATCH"; }

}  // namespace

Result<OutgoingRequest> outgoing_request(serve::HttpRequest request, const ServerAddress& address, std::string_view token) {
  OutgoingRequest out;
  out.upgrade = is_upgrade(request.headers);
  out.head_only = request.method == "HEAD";
  const bool reads = request.method == "GET" || out.head_only || request.method == "OPTIONS";
  out.repeatable = reads && request.body.empty() && !request.content;
  BodyFraming framing;
  if (request.content) {
    out.length = content_length(request);
    framing = {.length = out.length, .chunked = !out.length};
  } else if (!request.body.empty() || has_body_by_method(request.method)) {
    framing.length = request.body.size();
  }
  const std::string upgrade = out.upgrade ? std::string(request.header("upgrade")) : std::string();
  FLEETADM_TRY(out.head, write_request_head(request, address, framing, upgrade, token));
  out.body = std::move(request.body);
  out.content = std::move(request.content);
  return out;
}

}  // namespace fleetadm::proxy
