#include "cli/foreign.h"

#include <algorithm>
#include <array>

namespace fleetadm::cli {
namespace {

constexpr auto kWords = std::to_array<Foreign>({
    // clusteradm
    {"get hub-info", "use `fleetadm version` for the hub, and `fleetadm get clusters` for what has joined it"},
    {"get klusterlet-info", "use `fleetadm get clusters -o wide` on the hub"},
    {"upgrade", "run `fleetadm init` (hub) or `fleetadm join` (managed cluster) of the new version again"},
    {"install", "fleetadm does not install add-ons yet"},
    {"uninstall", "fleetadm does not install add-ons yet"},
    {"delete token", "use `fleetadm token revoke`"},
    {"token delete", "use `fleetadm token revoke`"},
    {"config use-context", "use `fleetadm config set` with the key hubContext, or kubectl config for the kubeconfig itself"},
    {"config get-contexts", "use kubectl config for kubeconfig files"},
    {"config current-context", "use `fleetadm config get` with the key hubContext, or kubectl config for the kubeconfig itself"},
    // karmadactl
    {"deinit", "use `fleetadm clean`"},
    {"cordon", "use `fleetadm cluster cordon`"},
    {"uncordon", "use `fleetadm cluster uncordon`"},
    {"taint", "use `fleetadm cluster taint`"},
    {"label", "use `fleetadm cluster label`"},
    {"promote", "use `fleetadm work create` with the manifests and --clusters"},
    // vela
    {"cluster join", "use `fleetadm join`"},
    {"cluster detach", "use `fleetadm unjoin`"},
    {"cluster labels", "use `fleetadm cluster label`"},
    {"cluster rename", "a cluster keeps its name; unjoin it and join it again under the new one"},
    // kubectl
    {"drain", "use `fleetadm cluster drain` for a cluster, kubectl drain for a node"},
    {"annotate", "use `fleetadm cluster annotate`"},
    {"apply", "use `fleetadm work apply` to distribute manifests to clusters, kubectl apply for a single cluster"},
    {"describe", "use `fleetadm placement describe` or `fleetadm work describe`"},
    // flags
    {"--num-of-clusters", "use --cluster-count"},
    {"--skip-approve-check", "certificate requests are always checked; name one with --csr to accept it"},
    {"--bundle-version", "use --image to name the image and its version"},
    {"--image-registry", "use --image with the whole name of the image"},
    {"--feature-gates", "features are not behind gates; pass options of the hub or the agent with --hub-arg or --agent-arg"},
    {"--mode", "only the default mode is supported"},
    {"--singleton", "only the default mode is supported"},
    {"--force-internal-endpoint-lookup", "use --hub-apiserver to name the address that the cluster can reach"},
    {"--use-bootstrap-token", "`fleetadm get token` decides on the kind of token"},
});

bool begins_with(const std::vector<std::string_view>& words, std::string_view row) {
  std::size_t at = 0;
  for (const std::string_view word : words) {
    const std::size_t end = std::min(row.find(' ', at), row.size());
    if (row.substr(at, end - at) != word) return false;
    if (end == row.size()) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

std::span<const Foreign> foreign_words() { return kWords; }

std::string foreign_command_hint(const std::vector<std::string>& words) {
  std::vector<std::string_view> plain;
  for (const std::string& word : words) {
    if (!word.starts_with("-")) plain.push_back(word);
  }
  std::string_view typed;
  std::string_view instead;
  for (const Foreign& row : kWords) {
    if (row.typed.starts_with("-") || row.typed.size() <= typed.size() || !begins_with(plain, row.typed)) continue;
    typed = row.typed;
    instead = row.instead;
  }
  return std::string(instead);
}

std::string foreign_flag_hint(std::string_view flag) {
  for (const Foreign& row : kWords) {
    if (row.typed == flag) return std::string(row.instead);
  }
  return {};
}

}  // namespace fleetadm::cli
