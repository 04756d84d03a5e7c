// A first look at a hub whose CA is not known yet: like kubeadm's discovery, the answer is fetched without verification and
// without any credential, and is believed only as far as a pin of the CA's public key confirms it.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/result.h"

namespace fleetadm::join {

struct HubLook {
  std::string refused;             // an IP address that the name leads to and that is refused: nothing else is known then
  std::string address;             // the IP address that answered
  std::vector<std::string> chain;  // PEM of each certificate that the server showed
  int status = 0;                  // of GET `path`, anonymous
  std::string body;                // at most 1 MiB
  std::optional<Instant> date;     // the server's Date header
};

/// The time of a Date header's value.
std::optional<Instant> parse_http_date(const std::string& text);

/// Whether no connection to an IP address may be made.
using RefuseAddress = std::function<bool(std::string_view address)>;

/// GET server+path without credentials and without verification. A proxy that is reached by TLS has to be one that `proxy_ca`
/// (PEM; empty: the system's roots) vouches for. kUnavailable where the name or the port does not answer; its reason is
/// DnsFailure, ConnectionFailed, ConnectTimeout, ProxyFailed or TlsFailure. kInvalid, AnswerTooLong: a longer answer. Redirects
/// are not followed. Nothing is sent to an address that `refuse` (empty: none) names.
Result<HubLook> look_at_hub(std::string_view server, std::string_view path, std::string_view proxy_url, std::string_view proxy_ca,
                            Duration timeout, const RefuseAddress& refuse = {});

/// The CA certificates (PEM) in `look` that have the pin: from the chain shown, or from a kube-public/cluster-info answer.
/// kTls where none has it.
Result<std::string> pinned_ca(const HubLook& look, std::string_view pin);

/// The certificates with the pin among those of a PEM text; empty where none.
std::string with_pin(std::string_view pem, std::string_view pin);

}  // namespace fleetadm::join
