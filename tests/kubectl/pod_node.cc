#include "tests/kubectl/pod_node.h"

#include <algorithm>

#include "core/sandbox/node/node.h"
#include "kubeclient/base/log.h"
#include "kubeclient/config/kubeconfig.h"
#include "tests/support/sandbox_node.h"

namespace fleetadm::kubectl {
namespace {

bool is_ready_node(const Json& node) {
  const Json& conditions = list_at(node, {"status", "conditions"});
  return std::any_of(conditions.begin(), conditions.end(),
                     [](const Json& one) { return str(one, {"type"}) == "Ready" && str(one, {"status"}) == "True"; });
}

}  // namespace

Result<std::unique_ptr<PodNode>> PodNode::start(const testkit::KubeServer& server,
                                                std::shared_ptr<sandbox::ContainerTable> containers) {
  sandbox::NodeOptions options;
  options.name = "node";
  options.log_folder = (server.folder() / "pods").string();
  options.executable = testkit::fleetadm_binary();
  options.containers = std::move(containers);
  if (options.executable.empty())
    return fail(Category::kUsage, "FLEETADM_BINARY is not set", "run the suite with ./dev test or ctest");
  kube::ConfigOverrides which;
  which.kubeconfig = server.kubeconfig_file();
  which.interactive = false;
  FLEETADM_TRY(const auto config, kube::load_rest_config(which));
  auto node = std::make_unique<PodNode>();
  node->serves_ = std::jthread([config, options](const std::stop_token& stop) {
    const Status served = sandbox::run_node(config, kube::Client::connect(config).with_stop(stop), options, stop);
    if (!served) log::warn("node", served.error().message);
  });
  if (!server.eventually("/api/v1/nodes/node", is_ready_node, std::chrono::seconds(60)))
    return fail(Category::kTimeout, "the node of " + server.name() + " did not become ready");
  return node;
}

}  // namespace fleetadm::kubectl
