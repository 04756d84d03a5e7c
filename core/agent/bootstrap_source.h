// The bootstrap kubeconfig: the hub to join and the identity to ask with, from a Secret of the spoke or from a file.
#pragma once

#include <optional>
#include <string>

#include "core/registration/agent/hub_secret.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::agent {

struct Bootstrap {
  std::string text;  // self-contained kubeconfig; secret
  registration::agent::Endpoint endpoint;
  kube::RestConfig config;
};

/// Removes what a cache of Secrets must not hold: their data, and the annotations, among which kubectl keeps a copy of it.
void drop_secret_content(Json& secret);

/// Not thread-safe.
class BootstrapSource {
 public:
  /// With a file name the file is read, else the secret.
  BootstrapSource(kube::Client spoke, std::string ns, std::string secret, std::string file);
  /// As it is now; nothing where there is no such secret. A kubeconfig that cannot be used is an Error that names the secret or
  /// file. One in a secret that names programs or files (exec, auth-provider, tokenFile, client-certificate, …) is refused.
  Result<std::optional<Bootstrap>> read();
  /// "secret ns/name" or the file's name.
  std::string name() const;
  bool is_file() const { return !file_.empty(); }

 private:
  Result<std::optional<std::string>> text() const;
  Result<Bootstrap> parse(std::string text) const;

  kube::Client spoke_;
  std::string ns_;
  std::string secret_;
  std::string file_;
  std::optional<Bootstrap> last_;  // parsed; it rarely changes
};

}  // namespace fleetadm::agent
