// The conversion webhook of one replica of the hub: its listener, the CA in its Secret, and what the CustomResourceDefinitions
// say of it. One pass after the other; nothing it meets stops the hub.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/serve/http/server.h"
#include "kubeclient/pki/authority.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::addon {

/// Both the Service (templates/hub/webhook.yaml) and the Secret.
inline constexpr std::string_view kWebhookName = "fleetadm-hub-webhook";

inline constexpr Duration kAuthorityLife = std::chrono::hours(24 * 365);
inline constexpr Duration kServingLife = std::chrono::hours(24 * 30);

struct WebhookOptions {
  std::string address;  // to listen on, host:port; the host is an IP address, localhost or nothing (all addresses)
  /// How API servers reach it. Empty: by the Service, or where the address is a loopback one, at that address.
  std::string url;
  std::string ns;  // of the Service and the Secret
  std::shared_ptr<Clock> clock = Clock::system();
};
/// kUsage: the address is no listen address, or the URL is not https://HOST[:PORT][/PATH].
Status check_webhook(const WebhookOptions& options);

/// One thread at a time.
class WebhookKeeper {
 public:
  WebhookKeeper(kube::Client client, WebhookOptions options);

  /// Listens, and keeps Secret, certificate and definitions as they should be. Only who leads writes definitions: replicas would
  /// not agree on a URL. A new CA is trusted everywhere before a certificate of it is served. What fails is tried again by the
  /// next pass; everything else is done all the same.
  Status pass(bool leads);

  /// Where it listens ("127.0.0.1:43121"); empty before.
  std::string endpoint() const;

 private:
  Result<pki::Authority> authority();
  Status listen(const pki::Authority& authority);
  Result<pki::KeyPair> certificate(const pki::Authority& authority) const;
  Json wanted_conversion(const std::string& bundle) const;
  /// Whether API servers that converted by this definition trusted the CA before.
  Result<bool> keep_definition(std::string_view name, const pki::Authority& authority, bool leads) const;

  kube::Client client_;
  WebhookOptions options_;
  serve::HttpRuntime runtime_;
  std::unique_ptr<serve::HttpListener> listener_;
  pki::KeyPair serving_;
  std::string serving_ca_;  // the CA that issued it
};

}  // namespace fleetadm::addon
