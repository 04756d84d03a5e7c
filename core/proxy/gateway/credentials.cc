#include "core/proxy/gateway/credentials.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::proxy {
namespace {

constexpr std::string_view kMemberToken = "fleetadm-member-token";
constexpr std::string_view kSubprotocols = "sec-websocket-protocol";
constexpr std::string_view kBearerSubprotocol = "base64url.bearer.authorization.k8s.io.";
constexpr std::size_t kLongestToken = 32 * 1024;

tl::unexpected<Error> unauthorized(std::string message) {
  return fail({.code = 401, .category = Category::kAuth, .message = std::move(message), .reason = "Unauthorized"});
}

/// token68 of RFC 9110, 11.2.
bool is_token(std::string_view text) {
  return !text.empty() && text.size() <= kLongestToken && std::ranges::all_of(text, [](char c) {
    return is_alnum(c) || std::string_view("-._~+/=").find(c) != std::string_view::npos;
  });
}

std::vector<std::string> take_header(serve::Headers& headers, std::string_view name) {
  std::vector<std::string> out;
  std::erase_if(headers, [&](auto& header) {
    if (header.first != name) return false;
    out.push_back(std::move(header.second));
    return true;
  });
  return out;
}

/// "Bearer <token>", the scheme in any case.
Result<std::string> bearer_of(std::string_view value) {
  const auto space = value.find(' ');
  if (space == std::string_view::npos || lower_case(value.substr(0, space)) != "bearer")
    return unauthorized("the authorization header is no bearer token");
  const auto token = trimmed(value.substr(space + 1));
  if (!is_token(token)) return unauthorized("the authorization header holds no token");
  return std::string(token);
}

/// As browsers send it. What is left of the header stays in the request.
Result<std::vector<std::string>> take_subprotocol_tokens(serve::Headers& headers) {
  std::vector<std::string> out;
  for (auto& [name, value] : headers) {
    if (name != kSubprotocols || value.find(kBearerSubprotocol) == std::string::npos) continue;
    std::string left;
    std::string_view rest = value;
    while (!rest.empty()) {
      const auto comma = std::min(rest.find(','), rest.size());
      const auto item = trimmed(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      if (!item.starts_with(kBearerSubprotocol)) {
        // Wherever it stands, it must not go on.
        if (item.find(kBearerSubprotocol) != std::string_view::npos)
          return unauthorized("the subprotocols of the WebSocket hold no token");
        left += (left.empty() ? "" : ", ") + std::string(item);
        continue;
      }
      std::string digits(item.substr(kBearerSubprotocol.size()));
      std::ranges::replace(digits, '-', '+');
      std::ranges::replace(digits, '_', '/');
      digits.append((4 - digits.size() % 4) % 4, '=');
      auto token = base64_decode(digits);
      if (!token || !is_token(*token)) return unauthorized("the subprotocols of the WebSocket hold no token");
      out.push_back(std::move(*token));
    }
    value = std::move(left);
  }
  std::erase_if(headers, [](const auto& header) { return header.first == kSubprotocols && header.second.empty(); });
  return out;
}

}  // namespace

Result<Credentials> take_credentials(serve::HttpRequest& request) {
  Credentials out;
  const auto authorizations = take_header(request.headers, "authorization");
  const auto members = take_header(request.headers, kMemberToken);
  FLEETADM_TRY(auto tokens, take_subprotocol_tokens(request.headers));
  for (const std::string& value : authorizations) {
    FLEETADM_TRY(auto token, bearer_of(value));
    tokens.push_back(std::move(token));
  }
  if (request.peer && request.peer->certificate == serve::Peer::Certificate::kInvalid)
    return unauthorized("the client certificate is not valid on the hub");
  const bool certified = request.peer && request.peer->certificate == serve::Peer::Certificate::kValid;
  if (tokens.size() + (certified ? 1 : 0) > 1)
    return unauthorized("the request brings more than one credential: a client certificate or one bearer token is expected");
  if (certified) {
    if (request.peer->common_name.empty()) return unauthorized("the client certificate names no user");
    out.certificate = request.peer;
  } else if (tokens.empty()) {
    return unauthorized("the request brings no credential of the hub: a client certificate or a bearer token is expected");
  } else {
    out.token = std::move(tokens.front());
  }
  if (members.empty()) return out;
  const auto bad = [](std::string message) {
    return fail({.code = 400, .category = Category::kInvalid, .message = std::move(message), .reason = "BadRequest"});
  };
  if (members.size() > 1 || !is_token(members.front())) return bad("the header fleetadm-member-token holds no token");
  if (members.front() == out.token) return bad("the header fleetadm-member-token holds the token of the hub");
  out.member_token = members.front();
  return out;
}

}  // namespace fleetadm::proxy
