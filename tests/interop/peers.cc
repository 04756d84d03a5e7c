#include "tests/interop/peers.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fleetadm::testkit {

std::optional<std::string> peers_folder() {
  const char* folder = std::getenv("FLEETADM_PEERS");
  if (folder == nullptr || *folder == '\0') return std::nullopt;
  for (const char* program : {"registration", "placement", "work", "clusteradm"}) {
    if (!std::filesystem::exists(std::filesystem::path(folder) / program)) return std::nullopt;
  }
  return std::string(folder);
}

std::string Peers::config_file(const std::string& component) const {
  const std::string text =
      "apiVersion: operator.openshift.io/v1alpha1\nkind: GenericOperatorConfig\nservingInfo: {bindAddress: \"127.0.0.1:" +
      std::to_string(free_port()) + "\"}\n";
  return folder_.write(component + ".config.yaml", text);
}

std::string Peers::hub_kubeconfig_folder(const std::string& cluster) const {
  return (folder_.path() / (cluster + "-hub-kubeconfig")).string();
}

Status Peers::start(const std::string& component, const std::string& program, std::vector<std::string> args,
                    const std::string& ns) {
  sandbox::ChildSpec spec;
  spec.program = *peers_folder() + "/" + program;
  spec.args = std::move(args);
  spec.args.push_back("--config=" + config_file(component));
  spec.args.push_back("--namespace=" + ns);
  spec.args.push_back("--disable-leader-election");
  spec.environment = {"HOME=" + folder_.path().string(), "PATH=/usr/bin:/bin", "POD_NAME=" + component, "POD_NAMESPACE=" + ns};
  spec.output_file = (folder_.path() / (component + ".log")).string();
  FLEETADM_TRY(auto child, sandbox::Child::start(spec));
  running_.insert_or_assign(component, std::move(child));
  return {};
}

Status Peers::start_hub(const KubeServer& hub) {
  constexpr const char* kNamespace = "open-cluster-management-hub";
  const auto kubeconfig = [&](const char* name) { return "--kubeconfig=" + hub.kubeconfig_file_for(name, {"system:masters"}); };
  FLEETADM_CHECK(start("upstream-registration", "registration",
                       {"controller", kubeconfig("upstream-registration"), "--feature-gates=DefaultClusterSet=true"},
                       kNamespace));
  FLEETADM_CHECK(start("upstream-placement", "placement", {"controller", kubeconfig("upstream-placement")}, kNamespace));
  return start("upstream-work", "work", {"manager", kubeconfig("upstream-work"), "--feature-gates=ManifestWorkReplicaSet=true"},
               kNamespace);
}

void Peers::stop_hub() {
  for (const char* component : {"upstream-registration", "upstream-placement", "upstream-work"}) running_.erase(component);
}

Status Peers::start_registration_agent(const KubeServer& spoke, const std::string& cluster, const std::string& bootstrap) {
  const std::string file = folder_.write(cluster + "-bootstrap.kubeconfig", bootstrap);
  return start(cluster + "-registration-agent", "registration",
               {"agent", "--spoke-cluster-name=" + cluster, "--bootstrap-kubeconfig=" + file,
                "--hub-kubeconfig-dir=" + hub_kubeconfig_folder(cluster),
                "--kubeconfig=" + spoke.kubeconfig_file_for("upstream-registration-agent", {"system:masters"}),
                "--feature-gates=ClusterClaim=true,AddonManagement=true"},
               "open-cluster-management-agent");
}

Status Peers::start_work_agent(const KubeServer& spoke, const std::string& cluster, const std::string& status_sync) {
  const std::string folder = hub_kubeconfig_folder(cluster);
  return start(cluster + "-work-agent", "work",
               {"agent", "--spoke-cluster-name=" + cluster, "--hub-kubeconfig-dir=" + folder, "--workload-source-driver=kube",
                "--workload-source-config=" + folder + "/kubeconfig",
                "--kubeconfig=" + spoke.kubeconfig_file_for("upstream-work-agent", {"system:masters"}),
                "--status-sync-interval=" + status_sync},
               "open-cluster-management-agent");
}

bool Peers::has_hub_kubeconfig(const std::string& cluster) const {
  return std::filesystem::exists(std::filesystem::path(hub_kubeconfig_folder(cluster)) / "kubeconfig");
}

std::string Peers::log(const std::string& component) const {
  std::ifstream in(folder_.path() / (component + ".log"), std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  const std::string all = text.str();
  return all.size() > 3000 ? all.substr(all.size() - 3000) : all;
}

}  // namespace fleetadm::testkit
