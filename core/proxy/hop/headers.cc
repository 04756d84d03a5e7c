#include "core/proxy/hop/headers.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/ascii.h"

namespace fleetadm::proxy {
namespace {

constexpr std::array<std::string_view, 8> kOfOneConnection = {
    "connection", "keep-alive", "te", "trailer", "upgrade", "transfer-encoding", "content-length", "http2-settings"};
constexpr std::array<std::string_view, 6> kIdentities = {"authorization", "cookie", "host", "forwarded", "via", "x-real-ip"};
constexpr std::array<std::string_view, 5> kIdentityPrefixes = {"x-remote-", "impersonate-", "x-forwarded-", "cluster-proxy-",
                                                               "fleetadm-"};

bool is_one_of(std::string_view name, const auto& names) { return std::ranges::find(names, name) != names.end(); }

/// The tokens of a list header, in lower case.
std::vector<std::string> tokens(std::string_view value) {
  std::vector<std::string> out;
  while (!value.empty()) {
    const auto comma = std::min(value.find(','), value.size());
    const std::string_view token = trimmed(value.substr(0, comma));
    if (!token.empty()) out.push_back(lower_case(token));
    value.remove_prefix(std::min(comma + 1, value.size()));
  }
  return out;
}

std::vector<std::string> connection_tokens(const serve::Headers& headers) {
  std::vector<std::string> out;
  for (const auto& [name, value] : headers) {
    if (name != "connection") continue;
    for (auto& token : tokens(value)) out.push_back(std::move(token));
  }
  return out;
}

}  // namespace

bool is_upgrade(const serve::Headers& headers) {
  const auto named = connection_tokens(headers);
  return is_one_of("upgrade", named) &&
         std::ranges::any_of(headers, [](const auto& header) { return header.first == "upgrade" && !header.second.empty(); });
}

void drop_hop_headers(serve::Headers& headers) {
  const auto named = connection_tokens(headers);
  std::erase_if(headers, [&](const auto& header) {
    return is_one_of(header.first, kOfOneConnection) || header.first.starts_with("proxy-") || is_one_of(header.first, named);
  });
}

void drop_identity_headers(serve::Headers& headers) {
  std::erase_if(headers, [](const auto& header) {
    return is_one_of(header.first, kIdentities) ||
           std::ranges::any_of(kIdentityPrefixes, [&](std::string_view prefix) { return header.first.starts_with(prefix); });
  });
}

void drop_answer_headers(serve::Headers& headers) {
  std::erase_if(headers, [](const auto& header) {
    return header.first == "set-cookie" || header.first == "via" || header.first.starts_with("fleetadm-");
  });
}

}  // namespace fleetadm::proxy
