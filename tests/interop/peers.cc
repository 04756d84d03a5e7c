#include "tests/interop/peers.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::testkit {
namespace {

constexpr const char* kHubNamespace = "open-cluster-management-hub";

}  // namespace

std::optional<std::string> peers_folder(std::initializer_list<const char*> more) {
  const char* folder = std::getenv("FLEETADM_PEERS");
  if (folder == nullptr || *folder == '\0') return std::nullopt;
  std::vector<const char*> programs{"registration", "placement", "work", "clusteradm"};
  programs.insert(programs.end(), more.begin(), more.end());
  for (const char* program : programs) {
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
  args.push_back("--config=" + config_file(component));
  args.push_back("--namespace=" + ns);
  args.emplace_back("--disable-leader-election");
  return launch(component, program, std::move(args), ns);
}

Status Peers::launch(const std::string& component, const std::string& program, std::vector<std::string> args,
                     const std::string& ns, const std::vector<std::string>& variables) {
  sandbox::ChildSpec spec;
  spec.program = *peers_folder() + "/" + program;
  spec.args = std::move(args);
  spec.environment = {"HOME=" + folder_.path().string(), "TMPDIR=" + folder_.path().string(), "PATH=/usr/bin:/bin",
                      "POD_NAME=" + component, "POD_NAMESPACE=" + ns};
  spec.environment.insert(spec.environment.end(), variables.begin(), variables.end());
  spec.output_file = (folder_.path() / (component + ".log")).string();
  running_.erase(component);  // one that is started anew ends first
  FLEETADM_TRY(auto child, sandbox::Child::start(spec));
  running_.insert_or_assign(component, std::move(child));
  return {};
}

Status Peers::start_hub(const KubeServer& hub) {
  const auto kubeconfig = [&](const char* name) { return "--kubeconfig=" + hub.kubeconfig_file_for(name, {"system:masters"}); };
  FLEETADM_CHECK(start("upstream-registration", "registration",
                       {"controller", kubeconfig("upstream-registration"), "--feature-gates=DefaultClusterSet=true"},
                       kHubNamespace));
  FLEETADM_CHECK(start("upstream-placement", "placement", {"controller", kubeconfig("upstream-placement")}, kHubNamespace));
  return start("upstream-work", "work", {"manager", kubeconfig("upstream-work"), "--feature-gates=ManifestWorkReplicaSet=true"},
               kHubNamespace);
}

void Peers::stop_hub() {
  for (const char* component : {"upstream-registration", "upstream-placement", "upstream-work"}) running_.erase(component);
}

Status Peers::start_registration_agent(const KubeServer& spoke, const std::string& cluster, const std::string& bootstrap,
                                       const std::string& addon_auth) {
  return start_registration_agent(spoke.kubeconfig_file_for("upstream-registration-agent", {"system:masters"}), cluster,
                                  bootstrap, addon_auth);
}

Status Peers::start_registration_agent(const std::string& spoke, const std::string& cluster, const std::string& bootstrap,
                                       const std::string& addon_auth) {
  const std::string file = folder_.write(cluster + "-bootstrap.kubeconfig", bootstrap);
  return start(cluster + "-registration-agent", "registration",
               {"agent", "--spoke-cluster-name=" + cluster, "--bootstrap-kubeconfig=" + file,
                "--hub-kubeconfig-dir=" + hub_kubeconfig_folder(cluster), "--kubeconfig=" + spoke,
                "--feature-gates=ClusterClaim=true,AddonManagement=true", "--addon-kubeclient-registration-auth=" + addon_auth},
               "open-cluster-management-agent");
}

Status Peers::start_work_agent(const KubeServer& spoke, const std::string& cluster, const std::string& status_sync) {
  return start_work_agent(spoke.kubeconfig_file_for("upstream-work-agent", {"system:masters"}), cluster, status_sync);
}

Status Peers::start_work_agent(const std::string& spoke, const std::string& cluster, const std::string& status_sync) {
  const std::string folder = hub_kubeconfig_folder(cluster);
  return start(
      cluster + "-work-agent", "work",
      {"agent", "--spoke-cluster-name=" + cluster, "--hub-kubeconfig-dir=" + folder, "--workload-source-driver=kube",
       "--workload-source-config=" + folder + "/kubeconfig", "--kubeconfig=" + spoke, "--status-sync-interval=" + status_sync},
      "open-cluster-management-agent");
}

Status Peers::start_addon_manager(const KubeServer& hub) {
  pki::LeafOptions leaf;
  leaf.subject.common_name = "upstream-webhook";
  leaf.ip_addresses = {"127.0.0.1"};
  leaf.server = true;
  FLEETADM_TRY(const pki::KeyPair serving, pki::issue(hub.ca(), leaf));
  std::filesystem::create_directories(folder_.path() / "webhook");
  folder_.write("webhook/tls.crt", serving.certificate);
  folder_.write("webhook/tls.key", serving.key);
  const std::string port = std::to_string(free_port());
  FLEETADM_CHECK(launch("upstream-webhook", "addon",
                        {"webhook-server", "--kubeconfig=" + hub.kubeconfig_file_for("upstream-webhook", {"system:masters"}),
                         "--certdir=" + (folder_.path() / "webhook").string(), "--port=" + port,
                         "--metrics-port=" + std::to_string(free_port()), "--health-probe-port=" + std::to_string(free_port())},
                        kHubNamespace));
  const Json client{{"url", "https://127.0.0.1:" + port + "/convert"}, {"caBundle", base64_encode(hub.ca().certificate)}};
  Json conversion{{"strategy", "Webhook"}};
  conversion["webhook"] = {{"clientConfig", client}, {"conversionReviewVersions", {"v1", "v1beta1"}}};
  conversion["webhook"]["clientConfig"]["service"] = nullptr;
  for (const char* plural : {"managedclusteraddons", "clustermanagementaddons"}) {
    const std::string path =
        std::string("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/") + plural + ".addon.open-cluster-management.io";
    const auto patched =
        hub.request("PATCH", path, dump_json(Json{{"spec", {{"conversion", conversion}}}}), "application/merge-patch+json");
    if (patched.status != 200) return fail(Category::kInvalid, path + ": " + patched.body);
  }
  return start("upstream-addon", "addon",
               {"manager", "--kubeconfig=" + hub.kubeconfig_file_for("upstream-addon", {"system:masters"})}, kHubNamespace);
}

void Peers::stop_addon_manager() {
  for (const char* component : {"upstream-addon", "upstream-webhook"}) running_.erase(component);
}

Status Peers::start_example(const KubeServer& server, const std::string& program, std::vector<std::string> args) {
  args.push_back("--kubeconfig=" + server.kubeconfig_file_for("example", {"system:masters"}));
  return launch("example", program, std::move(args), kHubNamespace);
}

Status Peers::start_account_manager(const KubeServer& hub) {
  return launch(
      "upstream-msa-manager", "msa",
      {"manager", "--kubeconfig=" + hub.kubeconfig_file_for("upstream-msa-manager", {"system:masters"}),
       "--feature-gates=EphemeralIdentity=true,ClusterProfile=true", "--metrics-bind-address=0",
       "--health-probe-bind-address=127.0.0.1:" + std::to_string(free_port()), "--agent-image-name=example.invalid/not-run:1"},
      kHubNamespace, {"NAMESPACE=" + std::string(kHubNamespace)});
}

Status Peers::start_account_agent(const KubeServer& spoke, const std::string& cluster, const std::string& hub_kubeconfig) {
  return launch(
      "upstream-msa-agent", "msa",
      {"agent", "--cluster-name=" + cluster, "--kubeconfig=" + hub_kubeconfig,
       "--spoke-kubeconfig=" + spoke.kubeconfig_file_for("upstream-msa-agent", {"system:masters"}), "--lease-health-check=true",
       "--metrics-bind-address=0", "--health-probe-bind-address=127.0.0.1:" + std::to_string(free_port())},
      "open-cluster-management-agent-addon",
      {"NAMESPACE=open-cluster-management-agent-addon", "HUB_KUBECONFIG=" + hub_kubeconfig});
}

void Peers::stop_accounts() {
  for (const char* component : {"upstream-msa-manager", "upstream-msa-agent"}) running_.erase(component);
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
