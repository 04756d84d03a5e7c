#include "tests/support/sandbox_node.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace fleetadm::testkit {
namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool node_ready(const Json& node) {
  for (const Json& condition : list_at(node, {"status", "conditions"})) {
    if (str(condition, {"type"}) == "Ready") return str(condition, {"status"}) == "True";
  }
  return false;
}

}  // namespace

std::string fleetadm_binary() {
  const char* binary = std::getenv("FLEETADM_BINARY");
  return binary != nullptr ? binary : "";
}

std::vector<std::string> clean_environment(std::vector<std::string> more) {
  for (const char* name : {"PATH", "HOME", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) more.push_back(std::string(name) + "=" + value);
  }
  return more;
}

Result<std::unique_ptr<SandboxNode>> SandboxNode::start(const KubeServer& server, SandboxNodeOptions options) {
  const std::string binary = options.binary.empty() ? fleetadm_binary() : options.binary;
  if (binary.empty()) return fail(Category::kUsage, "FLEETADM_BINARY is not set", "run the suite with ./dev test or ctest");
  const fs::path logs = server.folder() / (options.name + "-logs");
  std::error_code error;
  fs::create_directories(logs, error);
  FLEETADM_TRY(auto child, sandbox::Child::start(
                               {.program = binary,
                                .args = {"sandbox", "node", "--kubeconfig", server.kubeconfig_file(), "--name", options.name,
                                         "--cpu", options.cpu, "--memory", options.memory, "--log-dir", logs.string(), "-v", "1"},
                                .environment = clean_environment({"TMPDIR=" + logs.string()}),  // goes with the server's folder
                                .output_file = (logs / "node.log").string()}));
  std::unique_ptr<SandboxNode> node(new SandboxNode(std::move(child), logs));
  const std::string path = "/api/v1/nodes/" + options.name;
  if (!eventually([&] { return node_ready(server.get(path)) || !node->child_.running(); }, std::chrono::seconds(60)) ||
      !node->child_.running()) {
    return fail(Category::kTimeout, "the node of " + server.name() + " did not become ready: " + text_of(logs / "node.log"));
  }
  return node;
}

std::string SandboxNode::pod_log(std::string_view ns, std::string_view pod_prefix) const {
  const std::string prefix = std::string(ns) + "_" + std::string(pod_prefix);
  std::string all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(logs_, error)) {
    if (entry.path().filename().string().starts_with(prefix)) all += text_of(entry.path());
  }
  return all;
}

}  // namespace fleetadm::testkit
