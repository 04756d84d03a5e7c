// The agent's credential on its hub as it is stored on the spoke (Secret hub-kubeconfig-secret,
// docs/reference/registration.md#the-hub-kubeconfig-secret), the address of the hub that it belongs to, and when it counts as
// usable (docs/reference/registration.md#validity-of-the-credential).
//
// Beside upstream's keys the secret holds the key and the text of a certificate request that was sent and not answered yet, so
// that an agent that was killed goes on with the request that people already see. Upstream's agent leaves these keys alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/registration/agent/identity.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::registration::agent {

inline constexpr const char* kKubeconfigKey = "kubeconfig";
inline constexpr const char* kClusterNameKey = "cluster-name";
inline constexpr const char* kAgentNameKey = "agent-name";
inline constexpr const char* kCertificateKey = "tls.crt";
inline constexpr const char* kPrivateKeyKey = "tls.key";
/// Before the keys kubeconfig, tls.crt and tls.key: of the hub that was left for another one of several.
inline constexpr const char* kFormerPrefix = "former-";
/// Of the certificate that no CA of the hub's kubeconfig vouches for any more, since that lost the one that did: its hash, and
/// how often the hub has been asked for another one in vain, and when last.
inline constexpr const char* kSupersededKey = "superseded-tls.crt";
inline constexpr const char* kPendingKeyKey = "pending-tls.key";
inline constexpr const char* kPendingRequestKey = "pending-tls.csr";

/// The decoded data of the secret; empty where there is no secret.
struct HubSecret {
  std::map<std::string, std::string> data;

  std::string get(const std::string& key) const;
  Identity identity() const { return {get(kClusterNameKey), get(kAgentNameKey)}; }
  /// The credential of the former hub, for the same identity.
  HubSecret former() const;
};

/// Where a hub is and how it proves itself: the cluster entry of a kubeconfig's current context.
struct Endpoint {
  std::string entry;  // the entry's name
  std::string server;
  std::string ca_pem;
  std::string proxy_url;
  std::string tls_server_name;
  bool operator==(const Endpoint&) const = default;
};

/// Category::kInvalid where the text is no kubeconfig, has no current context, or keeps the CA outside of it.
Result<Endpoint> endpoint_of(std::string_view kubeconfig);
/// For connections to it, which still need a credential.
kube::RestConfig config_of(const Endpoint& endpoint);
enum class StoredCredential { kCertificate, kToken };
/// The stored kubeconfig: the endpoint, with the certificate and key, or the token, as files beside it (relative paths).
std::string hub_kubeconfig(const Endpoint& endpoint, StoredCredential credential = StoredCredential::kCertificate);

/// Why the stored credential cannot be used, or nothing where it can: it is complete, its certificate names this identity,
/// belongs to the key and has not expired, and it is for the same hub as the bootstrap kubeconfig (where there is one).
std::string why_unusable(const HubSecret& secret, const Identity& identity, const std::optional<Endpoint>& bootstrap,
                         Instant now);

/// The secret on the spoke. Writes carry preconditions and keep keys that are not ours. Thread-safe; copies share what they have
/// seen.
class HubSecretStore {
 public:
  /// `labels`: of the secret where it is made here.
  HubSecretStore(kube::Client spoke, std::string ns, std::string name, std::map<std::string, std::string> labels = {});
  Result<HubSecret> load() const;
  /// Lets `change` edit what was last seen, writes the difference (or creates the secret) and answers what is stored then.
  /// `change` runs again on fresh data where another writer was faster.
  Result<HubSecret> edit(const std::function<Status(HubSecret&)>& change) const;
  /// Gone, or never there: success.
  Status remove() const;
  const std::string& name() const { return name_; }
  const std::string& ns() const { return ns_; }

 private:
  void remember(std::optional<Json> secret) const;
  std::optional<Json> known() const;

  kube::Client spoke_;
  std::string ns_;
  std::string name_;
  std::map<std::string, std::string> labels_;
  struct Seen {
    std::mutex mutex;
    std::optional<Json> secret;
  };
  std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
};

}  // namespace fleetadm::registration::agent
