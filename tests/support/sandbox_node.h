// The process node as a child: `fleetadm sandbox node` for one server.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/sandbox/node/child.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {

/// The binary under test: $FLEETADM_BINARY (ctest and ./dev set it).
std::string fleetadm_binary();

struct SandboxNodeOptions {
  std::string name = "node";
  std::string cpu = "4";
  std::string memory = "8Gi";
  std::string binary;  // empty: fleetadm_binary()
};

/// Logs of the node and of its pods are in <server's folder>/<node's name>-logs. Stopped by the destructor.
class SandboxNode {
 public:
  /// Answers when the Node is Ready in the API (60 s).
  static Result<std::unique_ptr<SandboxNode>> start(const KubeServer& server, SandboxNodeOptions options = {});

  ~SandboxNode() { stop(); }
  SandboxNode(const SandboxNode&) = delete;
  SandboxNode& operator=(const SandboxNode&) = delete;

  /// SIGTERM, then SIGKILL after 20 s.
  sandbox::ExitStatus stop() { return child_.stop(std::chrono::seconds(20)); }
  sandbox::Child& process() { return child_; }
  const std::filesystem::path& log_folder() const { return logs_; }
  /// What a pod's container has written so far; pods are named by prefix (Deployments add random ends).
  std::string pod_log(std::string_view ns, std::string_view pod_prefix) const;

 private:
  SandboxNode(sandbox::Child child, std::filesystem::path logs) : child_(std::move(child)), logs_(std::move(logs)) {}
  sandbox::Child child_;
  std::filesystem::path logs_;
};

/// The environment that fleetadm's children get in tests: PATH, HOME, TMPDIR and what the sanitizers read; nothing else leaks in.
std::vector<std::string> clean_environment(std::vector<std::string> more = {});

}  // namespace fleetadm::testkit
