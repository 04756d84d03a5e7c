// The servers that the specs run on.
#include <algorithm>

#include "core/sandbox/fleet/cluster.h"
#include "core/sandbox/node/child.h"
#include "kubeclient/base/encoding.h"
#include "tests/kubernetes/runner.h"
#include "tests/support/kube_servers.h"
#include "tests/support/sandbox_node.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::kubernetes {
namespace {

class SandboxTarget final : public Target {
 public:
  ~SandboxTarget() override {
    nodes_.clear();
    cluster_.reset();
    runtime_.stop();
  }
  std::string kubeconfig_file() const override { return kubeconfig_; }
  std::filesystem::path folder() const override { return folder_.path(); }

  Status start() {
    FLEETADM_TRY(cluster_, sandbox::Cluster::start(runtime_, {.name = "specs", .folder = folder_.path() / "cluster"}));
    FLEETADM_TRY(Json user, cluster_->admin_user());
    const Json config = {
        {"apiVersion", "v1"},
        {"kind", "Config"},
        {"current-context", "specs"},
        {"clusters", Json::array({{{"name", "specs"},
                                   {"cluster",
                                    {{"server", cluster_->url()},
                                     {"certificate-authority-data", base64_encode(cluster_->ca().certificate)}}}}})},
        {"users", Json::array({{{"name", "specs"}, {"user", std::move(user)}}})},
        {"contexts", Json::array({{{"name", "specs"}, {"context", {{"cluster", "specs"}, {"user", "specs"}}}}})}};
    kubeconfig_ = folder_.write("kubeconfig", dump_json(config));
    const auto binary = testkit::fleetadm_binary();
    if (binary.empty()) return fail(Category::kUsage, "FLEETADM_BINARY is not set", "run the suite with ./dev test or ctest");
    for (const char* name : {"node-1", "node-2"}) {
      FLEETADM_TRY(auto child,
                   sandbox::Child::start({.program = binary,
                                          .args = {"sandbox", "node", "--kubeconfig", kubeconfig_, "--name", name},
                                          .environment = testkit::clean_environment({"TMPDIR=" + folder_.path().string()}),
                                          .output_file = (folder_.path() / (std::string(name) + ".log")).string()}));
      nodes_.push_back(std::move(child));
    }
    auto& engine = cluster_->api().engine();
    const auto nodes = engine.kinds().find("", "v1", "nodes");
    const auto running = [&] {
      return std::all_of(nodes_.begin(), nodes_.end(), [](sandbox::Child& one) { return one.running(); });
    };
    const auto ready = [&] {
      std::size_t count = 0;
      for (const Json& node : engine.list(*nodes)) {
        for (const Json& condition : list_at(node, {"status", "conditions"})) {
          if (str(condition, {"type"}) == "Ready" && str(condition, {"status"}) == "True") ++count;
        }
      }
      return count >= nodes_.size() || !running();
    };
    if (!testkit::eventually(ready, std::chrono::seconds(60)) || !running())
      return fail(Category::kTimeout, "the process nodes did not become ready");
    return {};
  }

 private:
  testkit::TemporaryFolder folder_{"specs"};
  serve::HttpRuntime runtime_{4};
  std::unique_ptr<sandbox::Cluster> cluster_;
  std::vector<sandbox::Child> nodes_;
  std::string kubeconfig_;
};

class RealTarget final : public Target {
 public:
  std::string kubeconfig_file() const override { return server_->kubeconfig_file(); }
  std::filesystem::path folder() const override { return server_->folder(); }
  Status start() {
    // Besides the controllers that the project's other suites need.
    FLEETADM_TRY(server_,
                 testkit::KubeServer::start({.name = "specs",
                                             .controller_manager_flags = {
                                                 "--controllers=cronjob-controller,daemonset-controller,disruption-controller,"
                                                 "endpoints-controller,endpointslice-controller,replicationcontroller-controller,"
                                                 "resourcequota-controller,statefulset-controller"}}));
    FLEETADM_TRY(node_, testkit::SandboxNode::start(*server_));
    return {};
  }

 private:
  std::unique_ptr<testkit::KubeServer> server_;
  std::unique_ptr<testkit::SandboxNode> node_;
};

template <class Kind>
Result<std::unique_ptr<Target>> started() {
  auto target = std::make_unique<Kind>();
  FLEETADM_CHECK(target->start());
  return std::unique_ptr<Target>(std::move(target));
}

}  // namespace

Result<std::unique_ptr<Target>> start_sandbox_target() { return started<SandboxTarget>(); }
Result<std::unique_ptr<Target>> start_real_target() { return started<RealTarget>(); }

}  // namespace fleetadm::kubernetes
