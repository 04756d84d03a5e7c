// kubeconfig files: reading, merging, resolving to a RestConfig, and safe writing. See docs/reference/kubeconfig.md.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/config/rest_config.h"

namespace fleetadm::kube {

/// The --kubeconfig, --context, --cluster, --user, --server, --as… of one command.
struct ConfigOverrides {
  std::string kubeconfig;  // explicit file; empty: $KUBECONFIG (a list), then ~/.kube/config
  std::string context;
  std::string cluster;
  std::string user;
  std::string ns;
  std::string as;
  std::string as_uid;
  std::vector<std::string> as_groups;
  std::string tls_server_name;
  bool interactive = true;  // stdin is a terminal (exec plugins)
};

/// A merged kubeconfig; relative paths are already absolute.
class Kubeconfig {
 public:
  /// Reads what `overrides` and the environment name, merged by the first-wins rule. A missing explicit file is
  /// kNotFound; malformed YAML or a wrong shape is kUsage with file, line and field.
  static Result<Kubeconfig> load(const ConfigOverrides& overrides);
  static Result<Kubeconfig> from_text(std::string_view yaml, std::string_view file_name = "kubeconfig");

  bool empty() const;
  std::string current_context() const;
  std::vector<std::string> contexts() const;
  const Json& document() const { return document_; }

  /// The connection of one context (empty: the override's or the current one). All problems of the entry in one error.
  Result<RestConfig> resolve(const ConfigOverrides& overrides) const;
  /// A self-contained kubeconfig of one context: files read into *-data (kubectl config view --minify --flatten).
  Result<Json> flatten(std::string_view context) const;

 private:
  Json document_;
};

/// Kubeconfig::load + resolve; with no kubeconfig at all and in a pod: in_cluster_config(). A context, cluster or user that is
/// named and missing is an error, in a pod too. A file or an entry that cannot be found is kUsage.
Result<RestConfig> load_rest_config(const ConfigOverrides& overrides);

/// RestConfig::name of a pod's own cluster, which no kubeconfig context names.
inline constexpr std::string_view kInClusterName = "in-cluster";
/// KUBERNETES_SERVICE_HOST/PORT and the service account's files, which are read again when they change. The folder is
/// $FLEETADM_SERVICEACCOUNT_DIR, else /var/run/secrets/kubernetes.io/serviceaccount. Its ca.crt is needed (kUsage): there is no
/// fall-back to the system's roots. Without a token it is kAuth.
Result<RestConfig> in_cluster_config();
/// The pod's namespace: $POD_NAMESPACE, else the service account's namespace file; empty outside a pod.
std::string in_cluster_namespace();
/// Whether the environment is that of a pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT).
bool in_cluster();

/// A minimal kubeconfig document with one cluster, user and context. `user` is the value of users[0].user.
Json make_kubeconfig(std::string_view server, std::string_view ca_pem, const Json& user, std::string_view context = "default");

/// Read-modify-write of one kubeconfig file under its lock (FILE.lock as kubectl takes it), written to a temporary file of
/// mode 0600 in the same folder and renamed. `change` edits the document (an empty object for a new file).
Status modify_kubeconfig(const std::string& file, const std::function<Status(Json&)>& change);
/// Adds the clusters, users and contexts of a document to a file; those of the same names are replaced. Its current context
/// stays.
Status merge_kubeconfig(const std::string& file, const Json& from);

}  // namespace fleetadm::kube
