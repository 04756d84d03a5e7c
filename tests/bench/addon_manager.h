// The program that bench_addon measures: our hub, or upstream's add-on manager with its webhook.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"
#include "tests/bench/work_process.h"

namespace fleetadm::bench {

/// The user of the program that is measured: audit logs tell its writes by it.
inline constexpr const char* kManagerUser = "bench-manager";

/// A program that can be started again, and what has to run beside it and counts as part of it.
class AddonManager {
 public:
  /// Placement, registration, works and the webhook included.
  static AddonManager ours(const testkit::KubeServer& server) {
    AddonManager manager;
    manager.spec_ = spec_of(server, "manager", testkit::Fleet::binary());
    // The same address after a restart, so that the definitions need not be written again.
    manager.spec_.args = {"hub",
                          "run",
                          "--kubeconfig",
                          server.kubeconfig_file_for(kManagerUser, {"system:masters"}),
                          "--leader-elect=false",
                          "--webhook-address=127.0.0.1:" + std::to_string(testkit::free_port())};
    return manager;
  }

  /// The add-on manager alone, with the request limits of upstream's own benchmarks (its default, 50 requests a second, would be
  /// measured and nothing else), and the webhook that converts versions.
  static Result<AddonManager> upstreams(const std::string& program, const testkit::KubeServer& server, const kube::Client& hub) {
    AddonManager manager;
    const std::filesystem::path config = server.folder() / "manager.config.yaml";
    std::ofstream(config) << "apiVersion: operator.openshift.io/v1alpha1\nkind: GenericOperatorConfig\n"
                          << "servingInfo: {bindAddress: \"127.0.0.1:" << testkit::free_port() << "\"}\n";
    manager.spec_ = spec_of(server, "manager", program);
    manager.spec_.args = {"manager",
                          "--kubeconfig=" + server.kubeconfig_file_for(kManagerUser, {"system:masters"}),
                          "--config=" + config.string(),
                          "--namespace=open-cluster-management-hub",
                          "--disable-leader-election",
                          "--kube-api-qps=1000",
                          "--kube-api-burst=2000"};
    FLEETADM_CHECK(manager.start_webhook(program, server, hub));
    return manager;
  }

  Status start() {
    FLEETADM_TRY(auto child, sandbox::Child::start(spec_));
    process_.emplace(std::move(child));
    return {};
  }
  void stop() {
    if (process_) process_->stop(std::chrono::seconds(20));
    process_.reset();
  }
  bool running() { return process_ && process_->running(); }

  /// Of the program without what runs beside it.
  double memory(const std::string& member) const { return process_ ? mebibytes(process_->pid(), member) : 0; }
  double beside_memory(const std::string& member) const { return beside_ ? mebibytes(beside_->pid(), member) : 0; }
  /// Of both, since the program was started last.
  double cpu() const { return (process_ ? cpu_seconds(process_->pid()) : 0) + (beside_ ? cpu_seconds(beside_->pid()) : 0); }
  bool has_beside() const { return beside_.has_value(); }

  std::string log() const {
    const std::string all = testkit::read_file(spec_.output_file);
    return all.substr(all.size() - std::min<std::size_t>(all.size(), 2000));
  }

 private:
  static sandbox::ChildSpec spec_of(const testkit::KubeServer& server, const std::string& name, const std::string& program) {
    sandbox::ChildSpec spec;
    spec.program = program;
    spec.environment = {"HOME=" + server.folder().string(), "PATH=/usr/bin:/bin", "POD_NAME=" + name,
                        "POD_NAMESPACE=open-cluster-management-hub",
                        "GLIBC_TUNABLES=glibc.malloc.tcache_max=256"};  // as templates/hub/deployment.yaml has it
    spec.output_file = (server.folder() / (name + ".log")).string();
    return spec;
  }

  /// Its certificate, the process, and its address in the definitions.
  Status start_webhook(const std::string& program, const testkit::KubeServer& server, const kube::Client& hub) {
    FLEETADM_TRY(const pki::KeyPair ca, pki::make_ca("bench", std::chrono::hours(24)));
    pki::LeafOptions leaf;
    leaf.subject.common_name = "localhost";
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    FLEETADM_TRY(const pki::KeyPair serving, pki::issue(ca, leaf));
    const std::filesystem::path folder = server.folder() / "webhook";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "tls.crt") << serving.certificate;
    std::ofstream(folder / "tls.key") << serving.key;
    const std::string port = std::to_string(testkit::free_port());
    sandbox::ChildSpec spec = spec_of(server, "webhook", program);
    spec.args = {"webhook-server", "--port=" + port, "--certdir=" + folder.string(), "--metrics-port=0", "--health-probe-port=0"};
    spec.environment.push_back("KUBECONFIG=" + server.kubeconfig_file());
    FLEETADM_TRY(auto child, sandbox::Child::start(spec));
    beside_.emplace(std::move(child));
    const Json client{
        {"url", "https://127.0.0.1:" + port + "/convert"}, {"caBundle", base64_encode(ca.certificate)}, {"service", nullptr}};
    const Json conversion{{"strategy", "Webhook"},
                          {"webhook", {{"clientConfig", client}, {"conversionReviewVersions", Json::array({"v1", "v1beta1"})}}}};
    for (const char* name : {"managedclusteraddons", "clustermanagementaddons"}) {
      FLEETADM_TRY([[maybe_unused]] const Json told,
                   hub.patch(kube::resources::custom_resource_definitions(), {},
                             std::string(name) + "." + "addon.open-cluster-management.io", kube::PatchType::kMerge,
                             {{"spec", {{"conversion", conversion}}}}));
    }
    return {};
  }

  sandbox::ChildSpec spec_;
  std::optional<sandbox::Child> process_;
  std::optional<sandbox::Child> beside_;
};

}  // namespace fleetadm::bench
