#include "core/proxy/konnectivity/identifiers.h"

#include <algorithm>

#include "core/proxy/rules/percent.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::konnectivity {
namespace {

constexpr std::size_t kHostLabel = 56;  // of the service proxy's host: a DNS label has 63 at most
constexpr std::size_t kMostLabel = 63;

bool is_label(std::string_view text) {
  return !text.empty() && text.size() <= kMostLabel && text.front() != '-' && text.back() != '-' &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

bool is_own(std::string_view host, std::string_view cluster) {
  if (host == cluster || host == service_proxy_host(cluster)) return true;
  return host.size() > cluster.size() + 1 && host.starts_with(cluster) && host[cluster.size()] == '.' &&
         is_label(host.substr(cluster.size() + 1));
}

}  // namespace

std::string service_proxy_host(std::string_view cluster) {
  return ("cluster-" + sha256_hex(cluster)).substr(0, kHostLabel) + ".open-cluster-management.proxy";
}

std::optional<std::string> foreign_identifier(std::string_view identifiers, std::string_view cluster) {
  while (!identifiers.empty()) {
    const std::size_t end = std::min(identifiers.find('&'), identifiers.size());
    const std::string_view one = identifiers.substr(0, end);
    identifiers.remove_prefix(std::min(end + 1, identifiers.size()));
    if (one.empty()) continue;
    constexpr std::string_view kHost = "host=";
    const auto host = one.starts_with(kHost) ? proxy::percent_decoded(one.substr(kHost.size())) : std::nullopt;
    if (!host || !is_own(*host, cluster)) return std::string(one);
  }
  return std::nullopt;
}

}  // namespace fleetadm::konnectivity
