// The CA by which API servers trust the hub's conversion webhook, as its Secret holds it: all replicas of the hub share it, and
// each issues its own serving certificate. Pure but for new keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::addon {

inline constexpr Duration kAuthorityLife = std::chrono::hours(24 * 365);
inline constexpr Duration kServingLife = std::chrono::hours(24 * 30);

struct WebhookAuthority {
  pki::KeyPair ca;
  std::string bundle;  // what clients trust: this CA and those before it that are still valid, PEM
};

/// Of the Secret's data; nullopt where there is none that could be used.
std::optional<WebhookAuthority> read_authority(const Json& secret);
/// The Secret's data.
Json authority_data(const WebhookAuthority& authority);

/// A fifth of the certificate's life is left, or less.
bool is_due(const std::string& certificate, Instant now);
/// A new CA. What the old one issued is trusted for as long as the old one is valid.
Result<WebhookAuthority> renew_authority(const std::optional<WebhookAuthority>& old, Instant now);

/// For the names and addresses at which the webhook is called.
Result<pki::KeyPair> issue_serving(const WebhookAuthority& authority, std::vector<std::string> dns_names,
                                   std::vector<std::string> ip_addresses);

}  // namespace fleetadm::addon
