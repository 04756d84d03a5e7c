// Upstream's cluster-proxy beside ours, whole path: its user server and konnectivity's proxy-server on the hub, proxy-agent and
// service proxy in the member's network, each a process. What its add-on would bring to a member is put there by hand.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

#include "core/api/cluster_proxy.h"
#include "core/proxy/konnectivity/identifiers.h"
#include "core/sandbox/node/child.h"
#include "tests/bench/proxy_lab.h"
#include "tests/interop/proxy_peers.h"

namespace fleetadm::bench {

/// It needs networks of hub and member.
class UpstreamPath {
 public:
  static constexpr std::initializer_list<const char*> kPrograms = {"addon", "cluster-proxy-manager", "cluster-proxy",
                                                                   "proxy-server", "proxy-agent"};

  explicit UpstreamPath(const ProxyLab& lab)
      : lab_(lab), networks_(lab.networks()), peers_(folder_, lab.hub(), networks_.hub_address) {}

  Status set_up() {
    FLEETADM_TRY(const auto hub, client_of(lab_.hub()));
    FLEETADM_CHECK(install_types(hub, "crds/hub/", "hub"));
    FLEETADM_CHECK(addons_.start_addon_manager(lab_.hub()));  // it converts what the next one reads
    FLEETADM_CHECK(peers_.start_manager(kInstalled));
    FLEETADM_CHECK(peers_.start_servers(kInstalled));
    const pki::KeyPair signer{peers_.secret("cluster-proxy-signer", "ca.crt"), peers_.secret("cluster-proxy-signer", "ca.key")};
    FLEETADM_TRY(const auto tunnel, user_of(signer, std::string(api::kProxyAgentUser), {std::string(api::kProxyAgentUser)}));
    token_ = token_of(maker_at(lab_.hub()), "bench");
    const std::string host = konnectivity::service_proxy_host(kCluster);
    const auto port = [](const char* flag) { return std::string("--") + flag + "=" + std::to_string(testkit::free_port()); };
    const std::string hosts = folder_.write("hosts", "127.0.0.1 localhost " + host + "\n");
    return launch(agent_, "proxy-agent",
                  {"--proxy-server-host=" + networks_.hub_address, "--proxy-server-port=" + std::to_string(peers_.agent_port()),
                   "--agent-identifiers=host=" + std::string(kCluster) + "&host=" + host, port("health-server-port"),
                   port("admin-server-port"), "--ca-cert=" + folder_.write("ca.crt", peers_.ca()),
                   "--agent-cert=" + folder_.write("agent.crt", tunnel.certificate),
                   "--agent-key=" + folder_.write("agent.key", tunnel.key)},
                  {{hosts, "/etc/hosts"}});
  }

  /// Puts the service proxy before the member's server.
  Status serve(const std::string& path_that_answers) {
    const Json& place = lab_.member();
    const std::string& address = networks_.member_address;
    const std::filesystem::path run = folder_.path() / "run";
    std::filesystem::create_directories(run / "secrets/kubernetes.io/serviceaccount");
    const auto write = [&](const std::string& name, const std::string& text) { return folder_.write("run/" + name, text); };
    write("secrets/kubernetes.io/serviceaccount/token", str(place, {"token"}));
    write("secrets/kubernetes.io/serviceaccount/ca.crt", str(place, {"ca"}));
    write("secrets/kubernetes.io/serviceaccount/namespace", "default");
    const std::string hosts = write("hosts", "127.0.0.1 localhost\n" + address + " kubernetes.default.svc\n");
    const char* certificate = "cluster-proxy-service-proxy-server-cert";
    FLEETADM_CHECK(
        launch(service_proxy_, "cluster-proxy",
               {"service-proxy", "--enable-impersonation=true",
                "--cert=" + folder_.write("proxy.crt", peers_.secret(certificate, "tls.crt")),
                "--key=" + folder_.write("proxy.key", peers_.secret(certificate, "tls.key")),
                "--hub-kubeconfig=" + lab_.hub().kubeconfig_file()},
               {{hosts, "/etc/hosts"}, {run.string(), "/run"}},
               {"KUBERNETES_SERVICE_HOST=" + address, "KUBERNETES_SERVICE_PORT=" + std::to_string(networks_.member_port)}));
    WayClient client(way());
    long answer = 0;
    if (testkit::eventually([&] { return (answer = client.get(path_that_answers)) >= 0; })) return {};
    return fail(Category::kTimeout, "upstream's user server answers with " + std::to_string(-answer) + ": " +
                                        peers_.log("upstream-user-server") + read_log("cluster-proxy") + read_log("proxy-agent"));
  }

  Way way() const { return {peers_.user_server() + "/" + kCluster, peers_.ca(), {}, token_}; }
  std::vector<pid_t> proxies() const {
    std::vector<pid_t> out = peers_.servers();
    out.push_back(agent_->pid());
    out.push_back(service_proxy_->pid());
    return out;
  }

 private:
  static constexpr const char* kCluster = "u1";
  static constexpr const char* kInstalled = "default";  // the namespace of its pods

  Status launch(std::optional<sandbox::Child>& into, const std::string& program, std::vector<std::string> args,
                std::vector<sandbox::BindMount> mounts, const std::vector<std::string>& variables = {}) const {
    sandbox::ChildSpec spec;
    spec.program = *testkit::peers_folder(kPrograms) + "/" + program;
    spec.args = std::move(args);
    spec.environment = {"HOME=" + folder_.path().string(), "PATH=/usr/bin:/bin", "POD_NAMESPACE=default"};
    spec.environment.insert(spec.environment.end(), variables.begin(), variables.end());
    spec.output_file = log_file(program);
    spec.mounts = std::move(mounts);
    networks_.member->move_in(spec);
    FLEETADM_TRY(into, sandbox::Child::start(spec));
    return {};
  }
  std::string log_file(const std::string& program) const { return (folder_.path() / (program + ".log")).string(); }
  std::string read_log(const std::string& program) const {
    std::ifstream in(log_file(program), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    return text.substr(text.size() - std::min<std::size_t>(text.size(), 1500));
  }

  const ProxyLab& lab_;
  const Networks& networks_;
  testkit::TemporaryFolder folder_{"bench-upstream"};
  testkit::Peers addons_{folder_};
  testkit::ProxyPeers peers_;
  std::string token_;
  std::optional<sandbox::Child> agent_;
  std::optional<sandbox::Child> service_proxy_;
};

}  // namespace fleetadm::bench
