#include "kubeclient/config/in_cluster.h"

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/host_port.h"
#include "kubeclient/config/credentials.h"
#include "kubeclient/config/files.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::kube {
namespace {

constexpr std::string_view kMountHint =
    "let the pod mount its service account's token (automountServiceAccountToken), or name a kubeconfig with --kubeconfig or "
    "KUBECONFIG";

std::string account_file(const Variables& variables, const char* name) {
  std::string folder = variables("FLEETADM_SERVICEACCOUNT_DIR");
  if (folder.empty()) folder = "/var/run/secrets/kubernetes.io/serviceaccount";
  return folder + "/" + name;
}

}  // namespace

bool in_cluster(const Variables& variables) {
  return !variables("KUBERNETES_SERVICE_HOST").empty() && !variables("KUBERNETES_SERVICE_PORT").empty();
}
bool in_cluster() { return in_cluster(environment); }

std::string in_cluster_namespace(const Variables& variables) {
  if (std::string name = variables("POD_NAMESPACE"); !name.empty()) return name;
  const auto text = read_file(account_file(variables, "namespace"));
  return text ? std::string(trimmed(*text)) : std::string();
}

std::string in_cluster_namespace() { return in_cluster_namespace(environment); }

Result<RestConfig> in_cluster_config() { return in_cluster_config(environment); }
Result<RestConfig> in_cluster_config(const Variables& variables) {
  const std::string host = variables("KUBERNETES_SERVICE_HOST");
  const std::string port = variables("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return fail(Category::kUsage, "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set",
                "name a kubeconfig with --kubeconfig or KUBECONFIG");
  }
  RestConfig config;
  config.server = "https://" + join_host_port(host, port);
  config.name = kInClusterName;
  config.default_namespace = in_cluster_namespace(variables);
  FileCredentials files;
  files.token_file = account_file(variables, "token");
  config.credentials = file_credentials(std::move(files));
  // A pod without its token would be told 401 later, which says less.
  if (const auto first = config.credentials->current(); !first) {
    return fail(first.error()
                    .wrap("no kubeconfig was found, and the pod's service account cannot be used")
                    .with_hint(std::string(kMountHint)));
  }
  // The server is trusted by this CA or not at all: the system's roots would accept whoever any public CA vouches for.
  auto ca = read_file(account_file(variables, "ca.crt"));
  if (!ca) return fail(Category::kUsage, "the cluster's CA cannot be read: " + ca.error().message, std::string(kMountHint));
  if (!pki::parse_certificates(*ca)) {
    return fail(Category::kUsage, account_file(variables, "ca.crt") + " holds no readable certificate", std::string(kMountHint));
  }
  config.ca_data = std::move(*ca);
  return config;
}

}  // namespace fleetadm::kube
