// A CA of the program's own, as a Secret holds it, and how it is replaced: of the hub's conversion webhook, of the gateway. All
// replicas of a program share it, and each issues its own serving certificate. Pure but for new keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::pki {

struct Authority {
  KeyPair ca;
  std::string bundle;  // what clients trust: this CA and those before it that are still valid, PEM
};

/// Of the Secret's data; nullopt where there is none that could be used.
std::optional<Authority> read_authority(const Json& secret);
/// The Secret's data.
Json authority_data(const Authority& authority);

/// The last `share` of the certificate's life has begun ("a fifth": 5, "a third": 3), or it cannot be read.
bool is_due(const std::string& certificate, Instant now, int share = 5);
/// A new CA. What the old one issued is trusted for as long as the old one is valid.
Result<Authority> renew_authority(const std::optional<Authority>& old, std::string_view common_name, Duration life, Instant now);

/// For the names and addresses at which the program is called; for servers alone.
Result<KeyPair> issue_serving(const Authority& authority, std::string_view common_name, std::vector<std::string> dns_names,
                              std::vector<std::string> ip_addresses, Duration life);

}  // namespace fleetadm::pki
