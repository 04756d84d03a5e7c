// kube-public/cluster-info as kubeadm knows it: where a hub is and which CA it has, readable by everybody, and signed with the
// secret of each bootstrap token that may sign: a detached JWS (HS256) of the kubeconfig under jws-kubeconfig-ID. Whoever has a
// token can tell that nobody without one has altered it (docs/reference/registration.md#discovery).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/config/rest_config.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

inline constexpr std::string_view kClusterInfoPath = "/api/v1/namespaces/kube-public/configmaps/cluster-info";

/// "ID.SECRET": six and sixteen lowercase letters and digits.
bool is_bootstrap_token(std::string_view token);

/// Header and signature of a JWS whose content is elsewhere, as Kubernetes' signer writes it: byte for byte the same.
std::string detached_signature(std::string_view content, std::string_view id, std::string_view secret);

/// The kubeconfig of a ConfigMap (JSON text) whose signature with `token` is right. kTls where it is not, or there is none.
Result<std::string> signed_kubeconfig(std::string_view config_map, std::string_view token);
/// The CAs (PEM) of a kubeconfig of one cluster. kTls: there are several clusters, or no CA.
Result<std::string> authorities_of(std::string_view kubeconfig);

/// The ConfigMap, and what lets everybody read it.
std::vector<Json> cluster_info_objects(const kube::RestConfig& hub);

/// The CAs in the hub's ConfigMap; empty where it has none yet. kConflict where it cannot be used.
Result<std::string> published_authorities(const kube::Client& hub);
/// Whether clients without a credential may read it.
Result<bool> everybody_reads_info(const kube::Client& hub);
/// Signs the hub's ConfigMap with a token.
Status sign_cluster_info(const kube::Client& hub, std::string_view token);
/// Takes the signatures of tokens that are gone, by their ids.
Status drop_signatures(const kube::Client& hub, const std::vector<std::string>& ids);
/// Signs with each token of the hub that may sign at `now`, and takes all other signatures. One write, where something differs.
Status sign_again(const kube::Client& hub, Instant now);

}  // namespace fleetadm::join
