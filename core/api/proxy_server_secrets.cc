#include "core/api/proxy_server_secrets.h"

#include <string_view>

#include "core/api/cluster_proxy.h"

namespace fleetadm::api {
namespace {

std::string named_or(std::string said, std::string_view otherwise) { return said.empty() ? std::string(otherwise) : said; }

}  // namespace

ProxyServerSecrets proxy_server_secrets(const Json& configuration) {
  const auto secret = [&](const char* field, std::string_view otherwise) {
    return named_or(str(configuration, {"spec", "authentication", "dump", "secrets", field}), otherwise);
  };
  return {.ns = named_or(str(configuration, {"spec", "proxyServer", "namespace"}), kClusterProxyNamespace),
          .ca = std::string(kProxyServerCaSecret),
          .front = secret("signingProxyServerSecretName", kProxyServerSecret),
          .agents = secret("signingAgentServerSecretName", kAgentServerSecret),
          .client = secret("signingProxyClientSecretName", kProxyClientSecret),
          .signer = std::string(kProxySignerSecret)};
}

}  // namespace fleetadm::api
