#include "tests/kubelet/container_node.h"

#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <unistd.h>
#include <utility>

#include "tests/kubelet/orphans.h"
#include "tests/support/fleet.h"
#include "tests/support/source_folder.h"

namespace fleetadm::testkit {
namespace fs = std::filesystem;
namespace {

using sandbox::Child;
using sandbox::ChildSpec;

constexpr std::string_view kFolderPrefix = "node-";  // behind which the owner stands
constexpr auto kStarted = std::chrono::seconds(60);  // of each program, on a loaded machine

const Result<std::string>& runtime() {
  static const Result<std::string> folder =
      equipment("FLEETADM_CONTAINER_RUNTIME", "tests/kubelet/runtime.sh", {"containerd", "ctr", "runc", "cni/bridge"}, "");
  return folder;
}

Error missing(const std::string& what, const std::string& hint) {
  Error error;
  error.category = Category::kUnavailable;
  error.message = "no real nodes: " + what;
  error.hint = hint;
  return error;
}

std::string end_of_file(const fs::path& file) {
  const std::string all = read_file(file.string());
  return all.size() <= 3000 ? all : all.substr(all.size() - 3000);
}

/// The child that a process has forked; 0 where it has none yet.
int child_of(int pid) {
  const std::string number = std::to_string(pid);
  int child = 0;
  std::ifstream("/proc/" + number + "/task/" + number + "/children") >> child;
  return child;
}

}  // namespace

const Status& ContainerNode::needs() {
  static const Status answer = look_for_needs();
  return answer;
}

Status ContainerNode::look_for_needs() {
  if (geteuid() != 0) return fail(missing("they need root", "run the tests as root"));
  for (const char* program : {"/bin/ip", "/usr/bin/nsenter", "/usr/bin/unshare"}) {
    if (access(program, X_OK) != 0) return fail(missing(std::string(program) + " is missing", "install iproute2 and util-linux"));
  }
  if (const auto network = NetworkNamespace::make(); !network)
    return fail(missing(network.error().message, network.error().hint));
  if (const auto cgroup = NodeCgroup::make("probe"); !cgroup) return fail(missing(cgroup.error().message, cgroup.error().hint));
  if (!runtime()) return fail(missing(runtime().error().message, runtime().error().hint));
  if (!KubeServer::programs()) return fail(KubeServer::programs().error());
  for (const char* program : {"kubelet", "kube-scheduler", "kubectl"}) {
    if (access((*KubeServer::programs() + "/" + program).c_str(), X_OK) != 0)
      return fail(missing(*KubeServer::programs() + " has no " + program,
                          "unset KUBEBUILDER_ASSETS and FLEETADM_KUBE_BIN, so that tests/kube/build.sh builds it"));
  }
  return {};
}

ContainerNode::ContainerNode(NodeOptions options)
    : options_(std::move(options)), folder_(name_with_owner(kFolderPrefix, options_.name)) {}

Result<std::unique_ptr<ContainerNode>> ContainerNode::make(NodeOptions options) {
  auto node = std::unique_ptr<ContainerNode>(new ContainerNode(std::move(options)));
  for (const fs::path& orphan : orphans_in(node->folder().parent_path(), "fleetadm-" + std::string(kFolderPrefix))) {
    std::error_code ignored;
    fs::remove_all(orphan, ignored);
  }
  FLEETADM_TRY(auto cgroup, NodeCgroup::make(node->name()));
  node->cgroup_.emplace(std::move(cgroup));
  FLEETADM_CHECK(node->make_namespaces());
  FLEETADM_CHECK(node->write_files());
  return node;
}

ContainerNode::~ContainerNode() {
  for (auto* child : {&kubelet_, &scheduler_, &containerd_})
    if (*child) kill(-(*child)->pid(), SIGKILL);
  kubelet_.reset();
  scheduler_.reset();
  containerd_.reset();
  // With the first process all others end; it is gone when they are.
  if (init_pid_ > 0) {
    kill(init_pid_, SIGKILL);
    init_->wait(std::chrono::seconds(20));
  }
}

Status ContainerNode::make_namespaces() {
  const auto with_bits = [](const std::string& address, const std::string& net) { return address + net.substr(net.find('/')); };
  std::vector<std::string> words{"--mount",
                                 "--pid",
                                 "--fork",
                                 "--kill-child",
                                 "--mount-proc",
                                 "--propagation",
                                 "private",
                                 "--",
                                 source_folder() + "/tests/kubelet/first_process.sh",
                                 folder().string(),
                                 options_.service_address + (options_.address6.empty() ? "/32" : "/128"),
                                 with_bits(options_.address, options_.pods)};
  if (!options_.address6.empty()) words.push_back(with_bits(options_.address6, options_.pods6));
  ChildSpec spec{.program = "/usr/bin/unshare",
                 .args = std::move(words),
                 .environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
                 .folder = {},
                 .output_file = (folder() / "init.log").string(),
                 .mounts = {}};
  options_.network->move_in(spec);
  FLEETADM_TRY(init_, Child::start(spec));
  const bool made = eventually([&] { return fs::exists(folder() / "is-made") || !init_->running(); }, kStarted);
  if (!made || !init_->running())
    return fail(missing("their namespaces cannot be made: " + end_of_file(folder() / "init.log"), "run the tests as root"));
  init_pid_ = child_of(init_->pid());
  if (init_pid_ <= 0) return fail(Category::kInternal, "the first process of " + name() + " is not known");
  return {};
}

std::vector<std::string> ContainerNode::inside(std::vector<std::string> words) const {
  std::vector<std::string> all{"/usr/bin/nsenter", "--target=" + std::to_string(init_pid_), "--net", "--mount", "--pid", "--"};
  all.insert(all.end(), std::make_move_iterator(words.begin()), std::make_move_iterator(words.end()));
  return all;
}

Result<Child> ContainerNode::start(std::vector<std::string> words, const std::string& log) const {
  words = inside(std::move(words));
  return Child::start({.program = words.front(),
                       .args = {words.begin() + 1, words.end()},
                       .environment = {path_variable(), "HOME=" + folder().string()},
                       .folder = {},
                       .output_file = log.empty() ? log : (folder() / log).string(),
                       .mounts = {}});
}

std::string ContainerNode::path_variable() { return "PATH=" + runtime().value_or("") + ":/usr/sbin:/usr/bin:/sbin:/bin"; }

Result<std::string> ContainerNode::run(const std::vector<std::string>& words) const {
  const std::string log = "command-" + std::to_string(++commands_) + ".log";
  FLEETADM_TRY(auto child, start(words, log));
  const auto ended = child.wait(std::chrono::minutes(6));  // beyond the limits of the commands themselves
  std::string said = read_file((folder() / log).string());
  if (ended && ended->code == 0) return said;
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return fail(Category::kUnavailable, name() + ": " + line + ": " + said);
}

Status ContainerNode::write_files() {
  FLEETADM_TRY(kubelet_clients_, pki::make_ca("kubelet-clients", std::chrono::hours(24)));
  pki::LeafOptions leaf;
  leaf.subject = {
      .common_name = "kube-apiserver-kubelet-client", .organizations = {"system:masters"}, .organizational_units = {}};
  leaf.client = true;
  FLEETADM_TRY(const pki::KeyPair client, pki::issue(kubelet_clients_, leaf));
  folder_.write("kubelet-clients-ca.crt", kubelet_clients_.certificate);
  folder_.write("kubelet-client.crt", client.certificate);
  folder_.write("kubelet-client.key", client.key);
  folder_.write("resolv.conf", "");
  const auto path = [&](const char* name) { return (folder() / name).string(); };
  fs::create_directory(folder() / "cni.d");
  const auto range = [](const std::string& subnet, const std::string& gateway) {
    return Json::array({{{"subnet", subnet}, {"gateway", gateway}}});
  };
  Json ranges = Json::array({range(options_.pods, options_.address)});
  Json routes = Json::array({{{"dst", "0.0.0.0/0"}}});
  if (!options_.address6.empty()) {
    ranges.insert(ranges.begin(), range(options_.pods6, options_.address6));
    routes.push_back({{"dst", "::/0"}});
  }
  const Json network{{"cniVersion", "0.4.0"},
                     {"name", "pods"},
                     {"type", "bridge"},
                     {"bridge", "cni0"},
                     {"isGateway", false},
                     {"hairpinMode", true},
                     {"ipam",
                      {{"type", "host-local"},
                       {"dataDir", path("cni-addresses")},
                       {"ranges", std::move(ranges)},
                       {"routes", std::move(routes)}}}};
  folder_.write("cni.d/10-pods.conf", dump_json(network));
  std::string config = "version = 2\nroot = \"" + path("containerd") + "\"\nstate = \"/run/containerd\"\n";
  config += "[grpc]\naddress = \"" + containerd_socket() + "\"\n";
  config += "[plugins.\"io.containerd.grpc.v1.cri\"]\nsandbox_image = \"localhost/workload:1\"\nrestrict_oom_score_adj = true\n";
  config +=
      "[plugins.\"io.containerd.grpc.v1.cri\".cni]\nbin_dir = \"" + *runtime() + "/cni\"\nconf_dir = \"" + path("cni.d") + "\"\n";
  config += "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\nruntime_type = \"io.containerd.runc.v2\"\n";
  config +=
      "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\nBinaryName = \"" + *runtime() + "/runc\"\n";
  folder_.write("containerd.toml", config);
  return {};
}

std::vector<std::string> ContainerNode::apiserver_flags() const {
  return {"--kubelet-client-certificate=" + (folder() / "kubelet-client.crt").string(),
          "--kubelet-client-key=" + (folder() / "kubelet-client.key").string(), "--kubelet-preferred-address-types=InternalIP"};
}

Status ContainerNode::start_containerd() {
  FLEETADM_TRY(containerd_,
               start({*runtime() + "/containerd", "--config", (folder() / "containerd.toml").string()}, "containerd.log"));
  const bool answers = eventually(
      [&] {
        return !containerd_->running() || run({*runtime() + "/ctr", "--address", containerd_socket(), "version"}).has_value();
      },
      kStarted, std::chrono::milliseconds(200));
  if (answers && containerd_->running()) return {};
  return fail(Category::kUnavailable, "containerd of " + name() + " does not run: " + end_of_file(folder() / "containerd.log"));
}

void ContainerNode::kill_containerd() {
  kill(-containerd_->pid(), SIGKILL);
  containerd_.reset();
}

Status ContainerNode::import_image(const std::string& archive) const {
  FLEETADM_TRY(const std::string said, run({*runtime() + "/ctr", "--address", containerd_socket(), "--namespace", "k8s.io",
                                            "images", "import", archive}));
  return {};
}

Status ContainerNode::write_kubelet_config(const KubeServer& server) {
  folder_.write("kubelet.kubeconfig", server.kubeconfig_for("system:node:" + name(), {"system:nodes"}));
  folder_.write("scheduler.kubeconfig", server.kubeconfig_for("system:kube-scheduler"));
  const Json config{
      {"apiVersion", "kubelet.config.k8s.io/v1beta1"},
      {"kind", "KubeletConfiguration"},
      {"address", options_.address6.empty() ? options_.address : options_.address6},
      {"authentication",
       {{"anonymous", {{"enabled", false}}},
        {"webhook", {{"enabled", true}}},
        {"x509", {{"clientCAFile", (folder() / "kubelet-clients-ca.crt").string()}}}}},
      {"authorization", {{"mode", "Webhook"}}},
      {"cgroupDriver", "cgroupfs"},
      {"cgroupRoot", "/" + cgroup_->name()},
      {"failCgroupV1", false},
      {"failSwapOn", false},
      {"containerRuntimeEndpoint", "unix://" + containerd_socket()},
      {"resolvConf", (folder() / "resolv.conf").string()},
      {"podLogsDir", (folder() / "pods").string()},  // $FLEETADM_KEEP keeps them
      {"volumePluginDir", (folder() / "volume-plugins").string()},
      // Nothing of the machine's state may make the node refuse or evict pods.
      {"evictionHard",
       {{"memory.available", "0%"}, {"nodefs.available", "0%"}, {"imagefs.available", "0%"}, {"nodefs.inodesFree", "0%"}}},
      {"imageGCHighThresholdPercent", 100},
      {"enforceNodeAllocatable", Json::array({"pods"})},
      {"makeIPTablesUtilChains", false},
      {"nodeStatusUpdateFrequency", "2s"},
      {"syncFrequency", "10s"}};
  folder_.write("kubelet.yaml", dump_json(config));
  return {};
}

Status ContainerNode::start_kubelet(const KubeServer& server) {
  FLEETADM_CHECK(write_kubelet_config(server));
  const auto file = [&](const char* name) { return (folder() / name).string(); };
  const std::string& programs = *KubeServer::programs();
  FLEETADM_TRY(scheduler_, start({programs + "/kube-scheduler", "--kubeconfig=" + file("scheduler.kubeconfig"),
                                  "--leader-elect=false", "--secure-port=0"},
                                 "kube-scheduler.log"));
  FLEETADM_TRY(kubelet_,
               start({programs + "/kubelet", "--config=" + file("kubelet.yaml"), "--kubeconfig=" + file("kubelet.kubeconfig"),
                      "--root-dir=" + file("kubelet"), "--hostname-override=" + name(),
                      "--node-ip=" + (options_.address6.empty() ? "" : options_.address6 + ",") + options_.address},
                     "kubelet.log"));
  const std::string path = "/api/v1/nodes/" + name();
  const bool ready = eventually([&] { return !kubelet_->running() || condition(server, path, "Ready") == "True"; }, kStarted * 2);
  if (ready && kubelet_->running()) return {};
  return fail(Category::kTimeout, "the node " + name() + " is not ready: " + kubelet_log());
}

std::string ContainerNode::kubelet_log() const { return end_of_file(folder() / "kubelet.log"); }

}  // namespace fleetadm::testkit
