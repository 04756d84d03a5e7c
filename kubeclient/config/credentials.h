// Where credentials come from: data in memory, files that rotate, exec plugins.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"
#include "kubeclient/config/rest_config.h"

namespace fleetadm::kube {

/// Credentials of which some stand in files. A file that is named wins over the data beside it. Files are looked at again at
/// most once a second; where that fails, or a certificate does not fit its key (a rotation half done), the last good content
/// stays in use. The first read must succeed.
struct FileCredentials {
  Credentials fixed;
  std::string certificate_file;
  std::string key_file;
  std::string token_file;
};
std::shared_ptr<CredentialSource> file_credentials(FileCredentials files, std::shared_ptr<Clock> clock = Clock::system());

/// An exec plugin of a kubeconfig (client.authentication.k8s.io/v1 and v1beta1).
struct ExecPlugin {
  std::string command;  // absolute, or a bare name for PATH
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string api_version;
  std::string install_hint;
  std::string interactive_mode;                // Never, IfAvailable, Always
  Json cluster;                                // spec.cluster, or null
  bool terminal = false;                       // stdin is one
  Duration timeout = std::chrono::minutes(1);  // without a terminal; with one a person may need ten times that
};
/// Runs the plugin when first needed, after its credential expired, and after a 401.
std::shared_ptr<CredentialSource> exec_credentials(ExecPlugin plugin, std::shared_ptr<Clock> clock = Clock::system());
/// exec_credentials() of this process: one source for all that would run the same plugin in the same way, so that a kubeconfig
/// that is resolved twice asks a person once.
std::shared_ptr<CredentialSource> shared_exec_credentials(ExecPlugin plugin);

}  // namespace fleetadm::kube
