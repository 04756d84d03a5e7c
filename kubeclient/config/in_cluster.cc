// The configuration of a pod.
#include <unistd.h>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/log.h"
#include "kubeclient/config/credentials.h"
#include "kubeclient/config/files.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::kube {
namespace {

std::string account_file(const char* name) {
  std::string folder = environment("FLEETADM_SERVICEACCOUNT_DIR");
  if (folder.empty()) folder = "/var/run/secrets/kubernetes.io/serviceaccount";
  return folder + "/" + name;
}

}  // namespace

bool in_cluster() {
  return !environment("KUBERNETES_SERVICE_HOST").empty() && !environment("KUBERNETES_SERVICE_PORT").empty() &&
         ::access(account_file("token").c_str(), R_OK) == 0;
}

std::string in_cluster_namespace() {
  if (std::string name = environment("POD_NAMESPACE"); !name.empty()) return name;
  const auto text = read_file(account_file("namespace"));
  return text ? std::string(trimmed(*text)) : std::string();
}

Result<RestConfig> in_cluster_config() {
  const std::string host = environment("KUBERNETES_SERVICE_HOST");
  const std::string port = environment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return fail(Category::kUsage, "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set",
                "name a kubeconfig with --kubeconfig or KUBECONFIG");
  }
  RestConfig config;
  config.server = "https://" + (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
  config.name = "in-cluster";
  config.default_namespace = in_cluster_namespace();
  if (auto ca = read_file(account_file("ca.crt"))) {
    config.ca_data = std::move(*ca);
  } else {
    log::warn("config", ca.error().message + "; the system's roots are used");
  }
  FileCredentials files;
  files.token_file = account_file("token");
  config.credentials = file_credentials(std::move(files));
  // A pod without its token would be told 401 later, which says less.
  FLEETADM_TRY([[maybe_unused]] const Credentials first, config.credentials->current());
  return config;
}

}  // namespace fleetadm::kube
