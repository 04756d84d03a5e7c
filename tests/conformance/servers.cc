// The two servers that are held to the same checks.
#include "core/sandbox/fleet/cluster.h"
#include "tests/conformance/lab.h"
#include "tests/support/kube_servers.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::conformance {
namespace {

class SandboxServer final : public Server {
 public:
  SandboxServer() {
    auto started = sandbox::Cluster::start(runtime_, {.name = "conformance", .folder = folder_.path() / "cluster"});
    if (started) {
      cluster_ = std::move(*started);
    } else {
      absent_ = started.error().message;
    }
  }
  ~SandboxServer() override {
    cluster_.reset();
    runtime_.stop();
  }
  std::string name() const override { return "Sandbox"; }
  std::string url() const override { return cluster_ ? cluster_->url() : std::string(); }
  const pki::KeyPair& ca() const override { return cluster_ ? cluster_->ca() : none_; }
  std::string absent() const override { return absent_; }
  const std::map<std::string, std::string>& deviations() const override {
    static const std::map<std::string, std::string> known = {};
    return known;
  }

 private:
  testkit::TemporaryFolder folder_{"conformance"};
  serve::HttpRuntime runtime_{4};
  std::unique_ptr<sandbox::Cluster> cluster_;
  pki::KeyPair none_;
  std::string absent_;
};

class RealServer final : public Server {
 public:
  RealServer() {
    if (const auto& programs = testkit::KubeServer::programs(); !programs) {
      absent_ = programs.error().message;
      return;
    }
    // Besides the controllers that the project's other suites need.
    auto started = testkit::KubeServer::start(
        {.name = "conformance",
         .controller_manager_flags = {"--controllers=endpoints-controller,endpointslice-controller,resourcequota-controller"}});
    if (started) {
      server_ = std::move(*started);
    } else {
      absent_ = started.error().message;
    }
  }
  std::string name() const override { return "KubeApiserver"; }
  std::string url() const override { return server_ ? server_->url() : std::string(); }
  const pki::KeyPair& ca() const override { return server_ ? server_->ca() : none_; }
  std::string absent() const override { return absent_; }
  const std::map<std::string, std::string>& deviations() const override {
    static const std::map<std::string, std::string> none;
    return none;
  }

 private:
  std::unique_ptr<testkit::KubeServer> server_;
  pki::KeyPair none_;
  std::string absent_;
};

}  // namespace

std::unique_ptr<Server> start_sandbox() { return std::make_unique<SandboxServer>(); }
std::unique_ptr<Server> start_real() { return std::make_unique<RealServer>(); }

}  // namespace fleetadm::conformance
